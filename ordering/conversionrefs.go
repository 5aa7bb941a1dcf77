package ordering

import (
	"strings"

	"github.com/ordapply/ordapply/object"
)

// converted adds edges to a custom resource that is not in its CRD's storage
// version: from the Service of the conversion webhook and the workloads behind
// it.
func (refs *references) converted(r Resource) {
	crd, ok := refs.crds[groupKind{r.Group, r.Kind}]
	if !ok || str(refs.resources[crd].Object, "spec", "conversion", "strategy") != "Webhook" || r.Version == storedVersion(refs.resources[crd].Object) {
		return
	}
	v := at(refs.resources[crd].Object, "spec", "conversion", "webhook", "clientConfig", "service")
	id := object.ID{Kind: "Service", Namespace: str(v, "namespace"), Name: str(v, "name")}
	service, ok := refs.byID[id]
	if !ok {
		return
	}
	where := "version " + r.Version + " is converted by the webhook of " + refs.resources[crd].ID.String()
	refs.edge(service, Applied, helps, "conversion", where+", which names")
	for _, workload := range refs.workloadsBehind(service) {
		refs.edge(workload, Ready, helps, "conversion", where+", which is served by")
	}
	refs.convertedTrust(crd, where)
}

// convertedTrust adds an edge from the Certificate or Secret from which
// cert-manager's cainjector fills the CA bundle of a conversion webhook
// (https://cert-manager.io/docs/concepts/ca-injector/).
func (refs *references) convertedTrust(crd int, where string) {
	r := refs.resources[crd]
	if str(r.Object, "spec", "conversion", "webhook", "clientConfig", "caBundle") != "" {
		return
	}
	for _, source := range []struct {
		annotation string
		id         object.ID
		gate       Gate
	}{
		{"cert-manager.io/inject-ca-from", object.ID{Group: "cert-manager.io", Kind: "Certificate"}, Ready},
		{"cert-manager.io/inject-ca-from-secret", object.ID{Kind: "Secret"}, Applied},
	} {
		source.id.Namespace, source.id.Name, _ = strings.Cut(r.Annotations[source.annotation], "/")
		if from, ok := refs.byID[source.id]; ok {
			refs.edge(from, source.gate, helps, "conversion", where+", which is trusted by")
		}
	}
}

// storedVersion returns the storage version of a CRD.
func storedVersion(crd map[string]any) string {
	for _, v := range list(crd, "spec", "versions") {
		if at(v, "storage") == true {
			return str(v, "name")
		}
	}
	return ""
}

// workloadsBehind returns the workloads of the stream that a Service selects.
func (ix *index) workloadsBehind(service int) []int {
	r := ix.resources[service]
	labels := stringMap(at(r.Object, "spec", "selector"))
	if len(labels) == 0 {
		return nil
	}
	return ix.selected(r.Namespace, selector{labels: labels})
}
