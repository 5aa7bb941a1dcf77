package main

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/ordapply/ordapply/apply"
)

// rule is one of a Role.
type rule struct {
	group     string
	resources []string
	names     []string // of the only objects that it is about; none: any
	verbs     []string
}

// resourceAt is a resource in a namespace; in none, for the ClusterRole.
type resourceAt struct {
	namespace, group, resource string
}

// rulesByNamespace puts permissions into as few rules as say neither more nor
// less; those that hold in no namespace are under "".
func rulesByNamespace(permissions apply.Permissions) map[string][]rule {
	grants := map[resourceAt]map[string][]string{} // the names of each verb
	for _, p := range slices.Concat(permissions.Required, permissions.Optional) {
		at := resourceAt{p.Namespace, p.Resource.Group, p.Resource.Resource}
		if p.Subresource != "" {
			at.resource += "/" + p.Subresource
		}
		if grants[at] == nil {
			grants[at] = map[string][]string{}
		}
		grants[at][p.Verb] = append(grants[at][p.Verb], p.Name)
	}
	rules := map[string][]rule{}
	for at, verbs := range grants {
		for _, r := range rulesOf(verbs) {
			r.group, r.resources = at.group, []string{at.resource}
			rules[at.namespace] = append(rules[at.namespace], r)
		}
	}
	for namespace, some := range rules {
		rules[namespace] = merged(some)
	}
	return rules
}

// byKind leaves out the names of objects in a namespace, so that one more of a
// kind needs no other Role. What lives in none, and the Namespace itself, stays
// named.
func byKind(permissions apply.Permissions) apply.Permissions {
	strip := func(list []apply.Permission) []apply.Permission {
		out := slices.Clone(list)
		for i, p := range out {
			if p.Namespace != "" && p.What() != "namespaces" {
				out[i].Name = ""
			}
		}
		return out
	}
	return apply.Permissions{Required: strip(permissions.Required), Optional: strip(permissions.Optional)}
}

// rulesOf are the rules of one resource: verbs for the same objects stand
// together.
func rulesOf(names map[string][]string) []rule {
	byNames := map[string]*rule{}
	for verb, list := range names {
		slices.Sort(list)
		list = slices.Compact(list)
		if list[0] == "" { // any
			list = nil
		}
		key := strings.Join(list, ",")
		if byNames[key] == nil {
			byNames[key] = &rule{names: list}
		}
		byNames[key].verbs = append(byNames[key].verbs, verb)
	}
	var rules []rule
	for _, r := range byNames {
		slices.Sort(r.verbs)
		rules = append(rules, *r)
	}
	return rules
}

// merged puts resources of a group with the same verbs into one rule, where it
// is for objects of any name, and sorts.
func merged(rules []rule) []rule {
	type likeness struct{ group, names, verbs string }
	byLikeness := map[likeness]rule{}
	for _, r := range rules {
		like := likeness{r.group, strings.Join(r.names, ","), strings.Join(r.verbs, ",")}
		if len(r.names) > 0 {
			like.names += " of " + r.resources[0]
		}
		if one, ok := byLikeness[like]; ok {
			r.resources = append(one.resources, r.resources...)
			slices.Sort(r.resources)
		}
		byLikeness[like] = r
	}
	return slices.SortedFunc(maps.Values(byLikeness), func(a, b rule) int {
		return cmp.Or(cmp.Compare(a.group, b.group), slices.Compare(a.resources, b.resources), slices.Compare(a.names, b.names), slices.Compare(a.verbs, b.verbs))
	})
}
