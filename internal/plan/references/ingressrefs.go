package references

import (
	"cmp"

	"github.com/ordapply/ordapply/internal/plan/graph"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// ingress adds edges from the IngressClass and the Services that an Ingress
// names.
func (refs *references) ingress(r ordering.Resource) {
	if r.Kind != "Ingress" || r.Group != "networking.k8s.io" && r.Group != "extensions" {
		return
	}
	refs.need(object.ID{Group: "networking.k8s.io", Kind: "IngressClass", Name: String(r.Object, "spec", "ingressClassName")}, graph.Helps, "ingress", "ingressClassName names")
	backend := func(b any, where string) {
		name := cmp.Or(String(b, "service", "name"), String(b, "serviceName"))
		refs.need(object.ID{Kind: "Service", Namespace: r.Namespace, Name: name}, graph.Helps, "ingress", where+" names")
	}
	backend(Field(r.Object, "spec", "defaultBackend"), "defaultBackend")
	backend(Field(r.Object, "spec", "backend"), "backend")
	for _, rule := range List(r.Object, "spec", "rules") {
		for _, path := range List(rule, "http", "paths") {
			backend(Field(path, "backend"), "a path")
		}
	}
}
