package ordering

import "github.com/ordapply/ordapply/object"

// converted: a custom resource of a version that is not stored passes through the
// conversion webhook of its CustomResourceDefinition, which must serve.
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
	for _, workload := range refs.behind(service) {
		refs.edge(workload, Ready, helps, "conversion", where+", which is served by")
	}
}

// storedVersion is the version in which a CustomResourceDefinition stores its
// resources.
func storedVersion(crd map[string]any) string {
	for _, v := range list(crd, "spec", "versions") {
		if at(v, "storage") == true {
			return str(v, "name")
		}
	}
	return ""
}

// behind are the workloads of the stream that serve a Service.
func (ix *index) behind(service int) []int {
	r := ix.resources[service]
	labels := stringMap(at(r.Object, "spec", "selector"))
	if len(labels) == 0 {
		return nil
	}
	return ix.selected(r.Namespace, selector{labels: labels})
}
