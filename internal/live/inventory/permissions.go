package inventory

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/kube"
)

// Permissions returns the permissions that reading a record requires.
func (r Ref) Permissions(kinds kube.Kinds) kube.Permissions {
	var p kube.Permissions
	read := func(to *[]kube.Permission, gk schema.GroupKind, namespace, name string, verbs ...string) {
		kind, known := kinds(gk.WithVersion(""))
		if !known {
			return // nothing is read of a kind that is not served
		}
		for _, verb := range verbs {
			*to = append(*to, kube.Permission{Verb: verb, Resource: kind.Resource, Namespace: namespace, Name: name})
		}
	}
	secrets, configMaps := schema.GroupKind{Kind: "Secret"}, schema.GroupKind{Kind: "ConfigMap"}
	switch r.Tool {
	case Kubectl:
		read(&p.Optional, secrets, r.Namespace, "", "list")
		read(&p.Optional, configMaps, r.Namespace, "", "list")
	case Helm:
		read(&p.Required, secrets, r.Namespace, "", "list", "get")
		read(&p.Optional, configMaps, r.Namespace, "", "list", "get") // of a release that is kept there
	case Kapp:
		read(&p.Required, configMaps, "", "", "list")
	case Kpt:
		read(&p.Required, schema.GroupKind{Group: "kpt.dev", Kind: "ResourceGroup"}, "", "", "list")
		read(&p.Required, configMaps, "", "", "list")
	case Flux:
		read(&p.Required, schema.GroupKind{Group: fluxGroup, Kind: "Kustomization"}, r.Namespace, r.Name, "get")
	case FluxHelm:
		read(&p.Required, schema.GroupKind{Group: fluxHelmGroup, Kind: "HelmRelease"}, r.Namespace, r.Name, "get")
	case ArgoCD:
		read(&p.Required, schema.GroupKind{Group: "argoproj.io", Kind: "Application"}, r.Namespace, r.Name, "list")
	}
	return p
}
