package fleet

import "strings"

// Field is a field of the file, for its page and for messages.
type Field struct{ Path, Type, Meaning string }

// Fields are all fields of the file, in the order of the page.
func Fields() []Field {
	return []Field{
		{"apiVersion", "string", "Always " + APIVersion + "."},
		{"kind", "string", "Always " + Kind + "."},
		{"metadata", "object", "Not read."},
		{"clusters", "list", "The clusters."},
		{"clusters[].name", "string", "The cluster's name, in output and in cohorts."},
		{"clusters[].context", "string", "A context of the kubeconfig. Default: the name."},
		{"clusters[].kubeconfig", "string", "Path of its kubeconfig, relative to this file. Requires --fleet-kubeconfigs. Default: that of the command."},
		{"clusters[].namespace", "string", "The namespace, as with -n. Default: that of the command, or of the context."},
		{"clusters[].labels", "map of strings", "Labels that the selectors of cohorts match."},
		{"cohorts", "list", "The cohorts, in the order in which they open. Every cluster must be in exactly one."},
		{"cohorts[].name", "string", "The cohort's name."},
		{"cohorts[].clusters", "list of strings", "Names of its clusters, in the order in which they start."},
		{"cohorts[].selector", "object", "A label selector, as in a Deployment: the clusters that it matches follow those that are named."},
		{"cohorts[].selector.matchLabels", "map of strings", "Labels a cluster must have, each with this value."},
		{"cohorts[].selector.matchExpressions", "list", "Conditions on labels."},
		{"cohorts[].selector.matchExpressions[].key", "string", "The label's key."},
		{"cohorts[].selector.matchExpressions[].operator", "string", "In, NotIn, Exists or DoesNotExist."},
		{"cohorts[].selector.matchExpressions[].values", "list of strings", "The values of In and NotIn."},
		{"cohorts[].maxParallel", "number or percentage", "How many clusters run at the same time, such as 2 or 25%, which is rounded up. Default: all."},
		{"cohorts[].maxFailures", "number or percentage", "How many clusters may fail while the cohort still passes, such as 1 or 10%, which is rounded down. Default: 0."},
		{"cohorts[].gate", "string", "How long all clusters of the cohort that did not fail must stay ready before it has passed, such as 10m. Requires --applyset."},
		{"cohorts[].pause", "string", "How long the next cohort waits after this one has passed, such as 1h."},
	}
}

// fieldsAt returns the names of the fields of an object at a path, such as "cohorts[3]".
func fieldsAt(path string) []string {
	var pattern strings.Builder
	digits := false
	for _, r := range path {
		if r == '[' || r == ']' {
			digits = r == '['
		} else if digits {
			continue
		}
		pattern.WriteRune(r)
	}
	if path != "" {
		pattern.WriteByte('.')
	}
	var names []string
	for _, f := range Fields() {
		if name, below := strings.CutPrefix(f.Path, pattern.String()); below && !strings.ContainsAny(name, ".[") {
			names = append(names, name)
		}
	}
	return names
}
