package references

import (
	"maps"
	"slices"

	"github.com/ordapply/ordapply/internal/plan/graph"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// podSelecting is a resource that selects Pods of its namespace and is applied
// before the workloads that create them: a Service, because clients resolve its
// name; a policy or quota, because it does not affect Pods that already run.
type podSelecting struct {
	at       int
	selector selector
	strength graph.Strength
	rule     ordering.Rule
	where    string
}

// addPodSelecting indexes resources that select Pods.
func (ix *Index) addPodSelecting(i int, r ordering.Resource) {
	p := podSelecting{at: i, strength: graph.Intended, rule: ordering.RulePolicy, where: "its Pods are limited by"}
	switch r.GroupKind() {
	case "Service":
		p = podSelecting{at: i, strength: graph.Helps, rule: "service", where: "its Pods are selected by"}
		if p.selector.labels = stringMap(Field(r.Object, "spec", "selector")); p.selector.empty() {
			return
		}
	case "NetworkPolicy.networking.k8s.io":
		p.selector, p.where = readSelector(Field(r.Object, "spec", "podSelector")), "its Pods are selected by"
	case "ResourceQuota", "LimitRange":
	default:
		return
	}
	label := podLabel{namespace: r.Namespace}
	if keys := slices.Sorted(maps.Keys(p.selector.labels)); len(keys) > 0 {
		label.pair = keys[0] + "=" + p.selector.labels[keys[0]]
	}
	ix.selecting[label] = append(ix.selecting[label], p)
}

// selectedBy adds edges from the resources that select a workload's Pods, and
// from the governing Service of a StatefulSet.
func (refs *references) selectedBy(r ordering.Resource) {
	if r.Group == "apps" && r.Kind == "StatefulSet" {
		refs.need(object.ID{Kind: "Service", Namespace: r.Namespace, Name: String(r.Object, "spec", "serviceName")}, graph.Helps, "service", "serviceName names")
	}
	if len(refs.selecting) == 0 || refs.templates[refs.at].spec == nil {
		return
	}
	labels := refs.templates[refs.at].labels()
	look := func(pair string) {
		for _, p := range refs.selecting[podLabel{r.Namespace, pair}] {
			if p.selector.matches(labels) {
				refs.edge(p.at, ordering.Applied, p.strength, p.rule, p.where)
			}
		}
	}
	look("")
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		look(key + "=" + labels[key])
	}
}
