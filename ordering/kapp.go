package ordering

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// kapp's annotations: a resource belongs to change groups, and its change rules
// say what happens to it before or after those of a group. Both may be given
// several times, with a suffix behind a dot.
const (
	changeGroupAnnotation = "kapp.k14s.io/change-group"
	changeRuleAnnotation  = "kapp.k14s.io/change-rule"
	// builtinGroups begins the names of the groups that kapp makes itself.
	builtinGroups = "change-groups.kapp.k14s.io/"
)

// changeRule says when a resource is applied or deleted, as seen from when those
// of a group are. Rules that cross the two concern no plan for one of them.
type changeRule struct {
	resource int
	key      string // of the annotation
	deletes  bool   // the resource: "delete", not "upsert"
	before   bool
	deleting bool // the group: "deleting", not "upserting"
	group    string
}

// String is the rule as kapp writes it.
func (r changeRule) String() string {
	words := []string{"upsert", "after", "upserting"}
	if r.deletes {
		words[0] = "delete"
	}
	if r.before {
		words[1] = "before"
	}
	if r.deleting {
		words[2] = "deleting"
	}
	return strings.Join(words, " ") + " " + r.group
}

// changeGroups reads kapp's groups and rules. Only groups that a rule about
// applying names make a set, and only these must be there: what a rule about
// deleting names may be in the cluster alone.
func (d *declarations) changeGroups() {
	rules, members := d.readChanges()
	d.changeMembers = members
	sets := map[string]int{}
	for _, rule := range rules {
		if rule.deletes != rule.deleting {
			continue
		}
		set, ok := sets[rule.group]
		switch {
		case rule.deletes:
			d.deleteRules = append(d.deleteRules, rule)
		case len(members[rule.group]) == 0:
			if !d.options.Incomplete && !strings.HasPrefix(rule.group, builtinGroups) && !d.isElsewhere("change group", rule.group, inChangeGroup) {
				d.fail(rule.resource, "annotation %s: no resource of the stream is in change group %s%s", rule.key, rule.group, DidYouMean(rule.group, slices.Sorted(maps.Keys(members))))
			}
		default:
			if !ok {
				set = d.addChangeGroup(rule.group, members[rule.group])
				sets[rule.group] = set
			}
			d.addRule(rule, set)
		}
	}
}

// readChanges reads the rules, and which resources are in which group.
func (d *declarations) readChanges() (rules []changeRule, members map[string][]int) {
	members = map[string][]int{}
	for i, r := range d.resources {
		if emitted(r, "kapp") {
			continue
		}
		for _, group := range d.groupsOf(i, r) {
			members[group] = append(members[group], i)
		}
		rules = append(rules, d.rulesOf(i, r)...)
	}
	if slices.ContainsFunc(rules, func(r changeRule) bool { return strings.HasPrefix(r.group, builtinGroups) }) {
		d.addBuiltinGroups(members)
	}
	return rules, members
}

func (d *declarations) addChangeGroup(name string, members []int) int {
	s := d.addSet(set{name: "change group " + name, short: name, kind: ChangeGroup, within: -1})
	slices.Sort(members)
	for _, i := range slices.Compact(members) {
		d.join(i, s, hard, hard)
	}
	return s
}

// addRule lets a resource wait for a group, or a group for the resource: then
// for the set of all resources that want to go before it.
func (d *declarations) addRule(rule changeRule, group int) {
	r := d.resources[rule.resource]
	if !rule.before {
		why := Reason{Rule: "kapp", Detail: "annotation " + rule.key + ": upsert after upserting " + rule.group, Where: r.Source}
		d.edges = append(d.edges, edge{from: d.exit(group), to: int32(rule.resource), weight: 1, strength: hard, why: why})
		return
	}
	if len(d.sets[group].after) == 0 {
		before := d.addSet(set{name: "what goes before " + d.sets[group].name, kind: ChangeGroup, within: -1})
		why := Reason{Rule: "kapp", Detail: "annotation " + rule.key + " of " + r.ID.String() + ": upsert before upserting " + rule.group, Where: r.Source}
		d.sets[group].after = []Barrier{{before, why}}
	}
	d.join(rule.resource, d.sets[group].after[0].Layer, hard, hard)
}

// inChangeGroup tells whether a resource is in a change group.
func inChangeGroup(r Resource, name string) bool {
	return slices.ContainsFunc(annotationsOf(r, changeGroupAnnotation), func(key string) bool {
		group, err := fillPlaceholders(r.Annotations[key], r)
		return err == nil && group == name
	})
}

func (d *declarations) groupsOf(i int, r Resource) []string {
	var groups []string
	for _, key := range annotationsOf(r, changeGroupAnnotation) {
		group, err := fillPlaceholders(r.Annotations[key], r)
		if err != nil {
			d.fail(i, "annotation %s: %w", key, err)
			continue
		}
		groups = append(groups, group)
	}
	return groups
}

func (d *declarations) rulesOf(i int, r Resource) []changeRule {
	var rules []changeRule
	for _, key := range annotationsOf(r, changeRuleAnnotation) {
		text, err := fillPlaceholders(r.Annotations[key], r)
		if err != nil {
			d.fail(i, "annotation %s: %w", key, err)
			continue
		}
		words := strings.Split(text, " ")
		if !isChangeRule(words) {
			d.fail(i, "annotation %s: %q is not (upsert|delete) (before|after) (upserting|deleting) GROUP", key, text)
			continue
		}
		rules = append(rules, changeRule{i, key, words[0] == "delete", words[1] == "before", words[2] == "deleting", words[3]})
	}
	return rules
}

func isChangeRule(words []string) bool {
	return len(words) == 4 && words[3] != "" &&
		slices.Contains([]string{"upsert", "delete"}, words[0]) &&
		slices.Contains([]string{"before", "after"}, words[1]) &&
		slices.Contains([]string{"upserting", "deleting"}, words[2])
}

// fillPlaceholders writes the resource's own words into a group's name or a
// rule.
func fillPlaceholders(text string, r Resource) (string, error) {
	if !strings.Contains(text, "{") {
		return text, nil
	}
	values := map[string]string{"{api-group}": r.Group, "{kind}": r.Kind, "{name}": r.Name, "{namespace}": r.Namespace}
	if isCRD(r.ID) {
		kind := definedKind(r.Object)
		values["{crd-kind}"], values["{crd-group}"] = kind.kind, kind.group
	}
	var err error
	filled := regexp.MustCompile(`{.+?}`).ReplaceAllStringFunc(text, func(placeholder string) string {
		if values[placeholder] == "" {
			err = fmt.Errorf("placeholder %s has no value here; there are {api-group}, {kind}, {name}, {namespace} and, on a CustomResourceDefinition, {crd-kind} and {crd-group}", placeholder)
		}
		return values[placeholder]
	})
	return filled, err
}

// addBuiltinGroups puts resources into the groups that kapp makes itself.
func (d *declarations) addBuiltinGroups(members map[string][]int) {
	for i, r := range d.resources {
		for _, name := range builtinGroupsOf(r) {
			members[builtinGroups+name] = append(members[builtinGroups+name], i)
		}
	}
}

func builtinGroupsOf(r Resource) []string {
	switch {
	case isCRD(r.ID):
		kind := definedKind(r.Object)
		return []string{"crds", "crds-" + kind.group + "-" + kind.kind}
	case isNamespace(r.ID):
		return []string{"namespaces", "namespaces-" + r.Name}
	case r.Group == rbacGroup && strings.HasSuffix(r.Kind, "Role"):
		return []string{"rbac", "rbac-roles"}
	case isBinding(r.ID):
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
