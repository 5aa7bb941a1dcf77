package rbac

import (
	"maps"
	"slices"
	"strings"
)

// Wide returns remarks on rules that reach further than the manifests: rules that change every
// object of a cluster-scoped kind, rules that delete permissions of others, and rules on every
// Secret of a namespace.
func (rules Rules) Wide() []string {
	var lines []string
	for _, namespace := range slices.Sorted(maps.Keys(rules)) {
		for _, r := range rules[namespace] {
			if len(r.names) > 0 {
				continue
			}
			place := "of the cluster"
			if namespace != "" {
				place = "in namespace " + namespace
			}
			text := strings.Join(r.verbs, ", ") + " on all " + r.what() + " " + place
			writes := slices.ContainsFunc(r.verbs, isWrite)
			switch {
			case r.group == Group && writes && (namespace == "" || slices.Contains(r.verbs, "delete")):
				lines = append(lines, "  "+text+": these include the permissions of others")
			case namespace == "" && writes:
				lines = append(lines, "  "+text)
			case r.group == "" && slices.Contains(r.resources, "secrets"):
				lines = append(lines, "  "+text+": keep no other Secrets there")
			}
		}
	}
	if len(lines) == 0 {
		return nil
	}
	return append([]string{"These rules reach further than the manifests, since no names can be put into them:"}, lines...)
}

// Group is the API group of Roles.
const Group = "rbac.authorization.k8s.io"

func isWrite(verb string) bool { return !slices.Contains([]string{"get", "list", "watch"}, verb) }

// what returns the resources of a rule with their group: "roles, rolebindings".
func (r rule) what() string {
	names := slices.Clone(r.resources)
	if r.group != "" && r.group != Group {
		for i := range names {
			names[i] += "." + r.group
		}
	}
	return strings.Join(names, ", ")
}
