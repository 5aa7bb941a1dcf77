// Package rbac has the permissions that the parts of a run need, and writes Roles with them:
//
//	subject, err := rbac.Subject{User: "jane"}.YAML()
//	text := rbac.RulesOf(permissions).YAML("ordapply", subject)
package rbac

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/ordapply/ordapply/kube"
)

// rule is a rule of a Role.
type rule struct {
	group     string
	resources []string
	names     []string // resourceNames; empty means any
	verbs     []string
}

// resourceAt is a resource in a namespace; "" for the ClusterRole.
type resourceAt struct {
	namespace, group, resource string
}

// Rules are the rules of Roles by namespace; those of "" are of the ClusterRole.
type Rules map[string][]rule

// RulesOf combines permissions of one resource and name into rules that grant exactly these.
func RulesOf(permissions kube.Permissions) Rules {
	grants := map[resourceAt]map[string][]string{} // names by verb
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
	rules := Rules{}
	for at, verbs := range grants {
		for _, r := range rulesOfResource(verbs) {
			r.group, r.resources = at.group, []string{at.resource}
			rules[at.namespace] = append(rules[at.namespace], r)
		}
	}
	for namespace, some := range rules {
		rules[namespace] = merged(some)
	}
	return rules
}

// ByKind removes the names of namespaced objects, so that a new object of a
// kind needs no new Role. Cluster-scoped objects and Namespaces keep their
// names.
func ByKind(permissions kube.Permissions) kube.Permissions {
	strip := func(list []kube.Permission) []kube.Permission {
		out := slices.Clone(list)
		for i, p := range out {
			if p.Namespace != "" && p.What() != "namespaces" {
				out[i].Name = ""
			}
		}
		return out
	}
	return kube.Permissions{Required: strip(permissions.Required), Optional: strip(permissions.Optional)}
}

// rulesOfResource returns the rules of one resource, with verbs for the same objects
// combined.
func rulesOfResource(names map[string][]string) []rule {
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

// merged combines resources of a group with the same verbs into one rule if it
// has no resourceNames, and sorts the rules.
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
