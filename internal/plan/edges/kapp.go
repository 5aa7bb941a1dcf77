package edges

import (
	"fmt"
	"iter"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/ordapply/ordapply/internal/nearest"
	"github.com/ordapply/ordapply/internal/plan/graph"
	"github.com/ordapply/ordapply/internal/plan/references"
	"github.com/ordapply/ordapply/ordering"
)

// kapp's annotations: a resource belongs to change groups, and its change rules
// order its changes before or after the changes of a group. Both keys may occur
// several times, with a suffix after a dot.
const (
	changeAnnotations     = "kapp.k14s.io/change-"
	changeGroupAnnotation = changeAnnotations + "group"
	changeRuleAnnotation  = changeAnnotations + "rule"
	// builtinGroups is the name prefix of the groups that kapp defines.
	builtinGroups = "change-groups.kapp.k14s.io/"
)

// changeRule orders the apply or deletion of a resource relative to a group.
// Rules that mix apply and deletion do not affect a plan for one of them.
type changeRule struct {
	text     string // in kapp's syntax
	resource int    // whose rule it is
	key      string // of the annotation
	deletes  bool   // the resource: "delete", not "upsert"
	before   bool
	deleting bool // the group is deleted: "deleting", not "upserting"
	group    string
}

// changes are the delete rules, and the groups that they order.
type changes struct {
	deletes []changeRule
	groups  map[string][]int // the resources of each group, planned or left out by a selection
}

// changeGroups reads kapp's groups and rules. Only groups that an apply rule
// names become sets, and only these must exist in the stream: the group of a
// delete rule may be in the cluster only.
func (d *Declarations) changeGroups() {
	rules, groups := d.readChanges()
	d.changes.groups = groups
	sets := map[string]int{}
	for _, rule := range rules {
		if rule.deletes != rule.deleting {
			continue
		}
		set, ok := sets[rule.group]
		switch group, planned := groups[rule.group], d.isPlanned(rule.resource); {
		case rule.deletes && planned:
			d.changes.deletes = append(d.changes.deletes, rule)
		case !planned && (rule.deletes || !rule.before): // nothing of the plan waits for it
		case group == nil:
			d.noSuchGroup(rule, slices.Sorted(maps.Keys(groups)))
		default:
			if !ok {
				set = d.addChangeGroup(rule.group, group)
				sets[rule.group] = set
			}
			d.addRule(rule, set)
		}
	}
}

// noSuchGroup notes a rule of the plan that names a group without a resource, which orders
// nothing for kapp either: the group may be of an addon that is not deployed.
func (d *Declarations) noSuchGroup(rule changeRule, known []string) {
	if d.Options.Incomplete || !d.isPlanned(rule.resource) || strings.HasPrefix(rule.group, builtinGroups) {
		return
	}
	d.Notes = append(d.Notes, fmt.Sprintf("%s: annotation %s orders nothing: no resource in the stream is in change group %s%s", d.resource(rule.resource).Located(), rule.key, rule.group, nearest.DidYouMean(rule.group, known)))
}

// readChanges reads the rules and the resources of each group, also ones that a
// selection leaves out: others may wait for them.
func (d *Declarations) readChanges() (rules []changeRule, groups map[string][]int) {
	groups = map[string][]int{}
	all := len(d.Resources) + len(d.ExcludedResources)
	for i := range all {
		r := d.resource(i)
		if !hasChanges(r) || Emitted(r, "kapp") {
			continue
		}
		for _, name := range d.groupsOf(r) {
			groups[name] = append(groups[name], i)
		}
		rules = append(rules, d.rulesOf(i, r)...)
	}
	if slices.ContainsFunc(rules, func(r changeRule) bool { return strings.HasPrefix(r.group, builtinGroups) }) {
		for i := range all {
			for _, name := range builtinGroupsOf(d.resource(i)) {
				groups[builtinGroups+name] = append(groups[builtinGroups+name], i)
			}
		}
	}
	return rules, groups
}

// hasChanges reports whether a resource has a change group or a change rule.
func hasChanges(r ordering.Resource) bool {
	for key := range r.Annotations {
		if strings.HasPrefix(key, changeAnnotations) {
			return true
		}
	}
	return false
}

func (d *Declarations) addChangeGroup(name string, group []int) int {
	s := d.AddSet(Set{Name: "change group " + name, Short: name, Kind: ordering.ChangeGroup, Within: -1})
	for _, i := range slices.Compact(slices.Sorted(slices.Values(group))) {
		d.put(i, s)
	}
	return s
}

// addRule makes a resource wait for a group, or a group wait for the set of all
// resources that have to go before it.
func (d *Declarations) addRule(rule changeRule, group int) {
	r := d.resource(rule.resource)
	if !rule.before {
		why := ordering.Reason{Rule: "kapp", Detail: "annotation " + rule.key + ": " + rule.text, Where: r.Source}
		d.Edges = append(d.Edges, graph.Edge{From: d.Exit(group), To: int32(rule.resource), Weight: 1, Strength: graph.Hard, Why: why})
		return
	}
	if len(d.Sets[group].After) == 0 {
		before := d.AddSet(Set{Name: "what goes before " + d.Sets[group].Name, Kind: ordering.ChangeGroup, Within: -1})
		why := ordering.Reason{Rule: "kapp", Detail: "annotation " + rule.key + " of " + r.ID.String() + ": " + rule.text, Where: r.Source}
		d.Sets[group].After = []ordering.Barrier{{Layer: before, Why: why}}
	}
	d.put(rule.resource, d.Sets[group].After[0].Layer)
}

// filled returns the annotations of a resource that have a key, numbered or not, with their
// placeholders replaced. One that cannot be replaced is a fault of the stream.
func (d *Declarations) filled(r ordering.Resource, base string) iter.Seq2[string, string] {
	return func(yield func(key, text string) bool) {
		for _, key := range annotationsOf(r, base) {
			text, err := fillPlaceholders(r.Annotations[key], r)
			if err != nil {
				d.fail(r, "annotation %s: %w", key, err)
			} else if !yield(key, text) {
				return
			}
		}
	}
}

func (d *Declarations) groupsOf(r ordering.Resource) []string {
	var groups []string
	for _, group := range d.filled(r, changeGroupAnnotation) {
		groups = append(groups, group)
	}
	return groups
}

func (d *Declarations) rulesOf(i int, r ordering.Resource) []changeRule {
	var rules []changeRule
	for key, text := range d.filled(r, changeRuleAnnotation) {
		words := strings.Split(text, " ")
		if !isChangeRule(words) {
			d.fail(r, "annotation %s: %q is not (upsert|delete) (before|after) (upserting|deleting) GROUP", key, text)
			continue
		}
		rules = append(rules, changeRule{text, i, key, words[0] == "delete", words[1] == "before", words[2] == "deleting", words[3]})
	}
	return rules
}

func isChangeRule(words []string) bool {
	return len(words) == 4 && words[3] != "" &&
		slices.Contains([]string{"upsert", "delete"}, words[0]) &&
		slices.Contains([]string{"before", "after"}, words[1]) &&
		slices.Contains([]string{"upserting", "deleting"}, words[2])
}

// fillPlaceholders replaces the placeholders in a group's name or a rule with
// values of the resource.
func fillPlaceholders(text string, r ordering.Resource) (string, error) {
	if !strings.Contains(text, "{") {
		return text, nil
	}
	values := map[string]string{"{api-group}": r.Group, "{kind}": r.Kind, "{name}": r.Name, "{namespace}": r.Namespace}
	if r.ID.IsCRD() {
		kind := references.DefinedKind(r.Object)
		values["{crd-kind}"], values["{crd-group}"] = kind.Kind, kind.Group
	}
	var err error
	filled := regexp.MustCompile(`{.+?}`).ReplaceAllStringFunc(text, func(placeholder string) string {
		if values[placeholder] == "" {
			err = fmt.Errorf("placeholder %s has no value here; use {api-group}, {kind}, {name}, {namespace} or, on a CustomResourceDefinition, {crd-kind} or {crd-group}", placeholder)
		}
		return values[placeholder]
	})
	return filled, err
}

// builtinGroupsOf returns the groups into which kapp puts a resource itself.
func builtinGroupsOf(r ordering.Resource) []string {
	switch {
	case r.ID.IsCRD():
		kind := references.DefinedKind(r.Object)
		return []string{"crds", "crds-" + kind.Group + "-" + kind.Kind}
	case r.ID.IsNamespace():
		return []string{"namespaces", "namespaces-" + r.Name}
	case r.Group == references.RBACGroup && strings.HasSuffix(r.Kind, "Role"):
		return []string{"rbac", "rbac-roles"}
	case references.IsBinding(r.ID):
		return []string{"rbac", "rbac-role-bindings"}
	}
	switch r.GroupKind() {
	case "StorageClass.storage.k8s.io":
		return []string{"storage-class"}
	case "PersistentVolume", "PersistentVolumeClaim":
		return []string{"storage"}
	case "ServiceAccount":
		return []string{"pod-related", "serviceaccount"}
	case "ConfigMap", "Secret", "ResourceQuota", "LimitRange", "NetworkPolicy.networking.k8s.io",
		"PodDisruptionBudget.policy", "PriorityClass.scheduling.k8s.io", "RuntimeClass.node.k8s.io":
		return []string{"pod-related"}
	}
	return nil
}

// DeleteEdges returns the edges of kapp's delete rules.
func (d *Declarations) DeleteEdges() []graph.Edge {
	var edges []graph.Edge
	for _, rule := range d.changes.deletes {
		why := ordering.Reason{Rule: "kapp", Detail: "annotation " + rule.key + ": " + rule.text, Where: d.Resources[rule.resource].Source}
		for _, member := range d.changes.groups[rule.group] {
			switch {
			case member == rule.resource || !d.isPlanned(member):
			case rule.before:
				edges = append(edges, graph.NewEdge(rule.resource, member, ordering.Ready, graph.Hard, why))
			default:
				edges = append(edges, graph.NewEdge(member, rule.resource, ordering.Ready, graph.Hard, why))
			}
		}
	}
	return edges
}
