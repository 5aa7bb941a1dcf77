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
	return podTemplateOf(obj).spec
}

// podTemplate is the object that has the Pods' metadata, and their spec; nil if there is none.
type podTemplate struct{ holder, spec map[string]any }

func podTemplateOf(obj map[string]any) podTemplate {
	own, ok := obj["spec"].(map[string]any)
	if !ok {
		return podTemplate{}
	}
	for _, path := range [][]string{{"template"}, {"jobTemplate", "spec", "template"}} {
		holder, _ := Field(own, path...).(map[string]any)
		spec, ok := Field(holder, "spec").(map[string]any)
		if ok && len(List(spec, "containers")) > 0 {
			return podTemplate{holder, spec}
		}
	}
	if len(List(own, "containers")) > 0 {
		return podTemplate{obj, own}
	}
	return podTemplate{}
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

// labels returns the labels of the Pods.
func (t podTemplate) labels() map[string]string {
	return stringMap(Field(t.holder, "metadata", "labels"))
}
