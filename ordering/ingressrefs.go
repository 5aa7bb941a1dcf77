package ordering

import "github.com/ordapply/ordapply/object"

// ingress adds edges from the IngressClass and the Services that an Ingress
// names.
func (refs *references) ingress(r Resource) {
	if r.Kind != "Ingress" || r.Group != "networking.k8s.io" && r.Group != "extensions" {
		return
	}
	if class := str(r.Object, "spec", "ingressClassName"); class != "" {
		refs.need(object.ID{Group: "networking.k8s.io", Kind: "IngressClass", Name: class}, helps, "ingress", "ingressClassName names")
	}
	backend := func(b any, where string) {
		name := str(b, "service", "name")
		if name == "" {
			name = str(b, "serviceName")
		}
		if name != "" {
			refs.need(object.ID{Kind: "Service", Namespace: r.Namespace, Name: name}, helps, "ingress", where+" names")
		}
	}
	backend(at(r.Object, "spec", "defaultBackend"), "defaultBackend")
	backend(at(r.Object, "spec", "backend"), "backend")
	for _, rule := range list(r.Object, "spec", "rules") {
		for _, path := range list(rule, "http", "paths") {
			backend(at(path, "backend"), "a path")
		}
	}
}
