package references

import (
	"cmp"

	"github.com/ordapply/ordapply/internal/plan/graph"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// PodSpec returns the Pod spec of a resource: its own, or its template's; nil
// if it has none. Unknown kinds count too if their template is where the
// built-in kinds have it.
func PodSpec(obj map[string]any) map[string]any {
	_, spec := podTemplate(obj)
	return spec
}

// podTemplate returns the object that has the Pods' metadata, and their spec.
func podTemplate(obj map[string]any) (holder, spec map[string]any) {
	own, ok := obj["spec"].(map[string]any)
	if !ok {
		return nil, nil
	}
	for _, path := range [][]string{{"template"}, {"jobTemplate", "spec", "template"}} {
		holder, _ := Field(own, path...).(map[string]any)
		spec, ok := Field(holder, "spec").(map[string]any)
		if ok && len(List(spec, "containers")) > 0 {
			return holder, spec
		}
	}
	if len(List(own, "containers")) > 0 {
		return obj, own
	}
	return nil, nil
}

// serviceAccount returns the ServiceAccount of a Pod spec.
func serviceAccount(namespace string, spec map[string]any) object.ID {
	return object.ID{Kind: "ServiceAccount", Namespace: namespace, Name: accountName(spec, "default")}
}

func accountName(spec map[string]any, fallback string) string {
	return cmp.Or(String(spec, "serviceAccountName"), String(spec, "serviceAccount"), fallback)
}

// podStrength returns required if a workload becomes ready only when its Pods
// run, else helps.
func podStrength(r ordering.Resource) graph.Strength {
	switch {
	case r.Kind == "Pod" && r.Group == "":
	case r.Group == "batch" && r.Kind == "Job":
		if Field(r.Object, "spec", "suspend") == true {
			return graph.Helps
		}
	case r.Group == "apps", r.Kind == "ReplicationController" && r.Group == "":
		if n := Field(r.Object, "spec", "replicas"); n == int64(0) || n == float64(0) {
			return graph.Helps
		}
	default:
		return graph.Helps
	}
	return graph.Required
}

// podLabels returns the labels of a workload's Pods.
func podLabels(r ordering.Resource) map[string]string {
	holder, _ := podTemplate(r.Object)
	return stringMap(Field(holder, "metadata", "labels"))
}
