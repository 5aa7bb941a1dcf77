package ordering

import "github.com/ordapply/ordapply/object"

// autoscaler adds the edge from the scale target of a HorizontalPodAutoscaler.
func (refs *references) autoscaler(r Resource) {
	if r.Group != "autoscaling" || r.Kind != "HorizontalPodAutoscaler" {
		return
	}
	group, _ := object.SplitAPIVersion(str(r.Object, "spec", "scaleTargetRef", "apiVersion"))
	target := object.ID{
		Group: group, Kind: str(r.Object, "spec", "scaleTargetRef", "kind"),
		Namespace: r.Namespace, Name: str(r.Object, "spec", "scaleTargetRef", "name"),
	}
	refs.need(target, helps, "target", "scaleTargetRef names")
}

// disruptionBudget adds edges from the workloads that a PodDisruptionBudget
// selects.
func (refs *references) disruptionBudget(r Resource) {
	if r.Group != "policy" || r.Kind != "PodDisruptionBudget" || at(r.Object, "spec", "selector") == nil {
		return
	}
	for _, workload := range refs.selected(r.Namespace, readSelector(at(r.Object, "spec", "selector"))) {
		refs.edge(workload, Applied, helps, "target", "selects Pods of")
	}
}
