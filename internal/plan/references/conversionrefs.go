package references

import (
	"strings"

	"github.com/ordapply/ordapply/internal/plan/graph"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// converted adds edges to a custom resource that is not in its CRD's storage
// version: from the Service of the conversion webhook and the workloads behind
// it.
func (refs *references) converted(r ordering.Resource) {
	crd, ok := refs.CRDs[GroupKind{r.Group, r.Kind}]
	if !ok || String(refs.Resources[crd].Object, "spec", "conversion", "strategy") != "Webhook" || r.Version == storedVersion(refs.Resources[crd].Object) {
		return
	}
	v := Field(refs.Resources[crd].Object, "spec", "conversion", "webhook", "clientConfig", "service")
	id := object.ID{Kind: "Service", Namespace: String(v, "namespace"), Name: String(v, "name")}
	service, ok := refs.ByID[id]
	if !ok {
		return
	}
	where := "version " + r.Version + " is converted by the webhook of " + refs.Resources[crd].ID.String()
	refs.edge(service, ordering.Applied, graph.Helps, "conversion", where+", which names")
	for _, workload := range refs.WorkloadsBehind(service) {
		if e := refs.edge(workload, ordering.Ready, graph.Helps, "conversion", where+", which is served by"); e != nil {
			e.Rejects = true
		}
	}
	refs.convertedTrust(crd, where)
}

// convertedTrust adds an edge from the Certificate or Secret from which
// cert-manager's cainjector fills the CA bundle of a conversion webhook
// (https://cert-manager.io/docs/concepts/ca-injector/).
func (refs *references) convertedTrust(crd int, where string) {
	r := refs.Resources[crd]
	if String(r.Object, "spec", "conversion", "webhook", "clientConfig", "caBundle") != "" {
		return
	}
	for _, source := range []struct {
		annotation string
		id         object.ID
		gate       ordering.Gate
	}{
		{"cert-manager.io/inject-ca-from", object.ID{Group: "cert-manager.io", Kind: "Certificate"}, ordering.Ready},
		{"cert-manager.io/inject-ca-from-secret", object.ID{Kind: "Secret"}, ordering.Applied},
	} {
		source.id.Namespace, source.id.Name, _ = strings.Cut(r.Annotations[source.annotation], "/")
		if from, ok := refs.ByID[source.id]; ok {
			refs.edge(from, source.gate, graph.Helps, "conversion", where+", which is trusted by")
		}
	}
}

// storedVersion returns the storage version of a CRD.
func storedVersion(crd map[string]any) string {
	for _, v := range List(crd, "spec", "versions") {
		if Field(v, "storage") == true {
			return String(v, "name")
		}
	}
	return ""
}
