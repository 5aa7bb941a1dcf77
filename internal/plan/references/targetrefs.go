package references

import (
	"github.com/ordapply/ordapply/internal/plan/graph"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// autoscaler adds the edge from the scale target of a HorizontalPodAutoscaler.
func (refs *references) autoscaler(r ordering.Resource) {
	if r.Group != "autoscaling" || r.Kind != "HorizontalPodAutoscaler" {
		return
	}
	group, _ := object.SplitAPIVersion(String(r.Object, "spec", "scaleTargetRef", "apiVersion"))
	target := object.ID{
		Group: group, Kind: String(r.Object, "spec", "scaleTargetRef", "kind"),
		Namespace: r.Namespace, Name: String(r.Object, "spec", "scaleTargetRef", "name"),
	}
	refs.need(target, graph.Helps, "target", "scaleTargetRef names")
}

// disruptionBudget adds edges from the workloads that a PodDisruptionBudget
// selects.
func (refs *references) disruptionBudget(r ordering.Resource) {
	if r.Group != "policy" || r.Kind != "PodDisruptionBudget" || Field(r.Object, "spec", "selector") == nil {
		return
	}
	for _, workload := range refs.selected(r.Namespace, readSelector(Field(r.Object, "spec", "selector"))) {
		refs.edge(workload, ordering.Applied, graph.Helps, "target", "selects Pods of")
	}
}
