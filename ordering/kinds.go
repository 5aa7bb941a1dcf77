package ordering

import (
	"fmt"
	"strings"

	"github.com/ordapply/ordapply/object"
)

// ProvidesAnnotation lists the kinds that a resource makes available in the
// cluster once it is ready, as comma-separated group/Kind. Resources of these
// kinds wait for it, as they do for a CRD.
const ProvidesAnnotation = "ordapply.dev/provides"

// addProviders records the kinds that a resource makes available.
func (ix *index) addProviders(i int, r Resource) {
	switch {
	case r.ID.IsCRD():
		kind := definedKind(r.Object)
		ix.crds[kind] = i
		ix.crdsByGroup[kind.group] = append(ix.crdsByGroup[kind.group], i)
		ix.providers[kind] = append(ix.providers[kind], provider{i, "crd"})
	case r.Group == "templates.gatekeeper.sh" && r.Kind == "ConstraintTemplate":
		kind := groupKind{"constraints.gatekeeper.sh", str(r.Object, "spec", "crd", "spec", "names", "kind")}
		ix.providers[kind] = append(ix.providers[kind], provider{i, "constraint-template"})
	case r.Group == "apiregistration.k8s.io" && r.Kind == "APIService":
		if at(r.Object, "spec", "service") != nil {
			served := groupVersion{str(r.Object, "spec", "group"), str(r.Object, "spec", "version")}
			ix.apiServices[served] = append(ix.apiServices[served], i)
		}
	}
	for _, kind := range splitList(r.Annotations[ProvidesAnnotation]) {
		if group, name, ok := strings.Cut(kind, "/"); ok {
			ix.providers[groupKind{group, name}] = append(ix.providers[groupKind{group, name}], provider{i, "provides"})
		}
	}
}

// checkProvides validates a resource's ProvidesAnnotation.
func checkProvides(r Resource) error {
	if err := CheckProvides(r.Annotations[ProvidesAnnotation]); err != nil {
		return fmt.Errorf("%s: annotation %s: %w", r.ID, ProvidesAnnotation, err)
	}
	return nil
}

// CheckProvides returns the syntax error in a value of ProvidesAnnotation, or nil.
func CheckProvides(value string) error {
	for _, kind := range splitList(value) {
		if _, name, ok := strings.Cut(kind, "/"); !ok || name == "" || strings.Contains(name, "/") {
			return fmt.Errorf("%q is not group/Kind, such as constraints.gatekeeper.sh/K8sRequiredLabels", kind)
		}
	}
	return nil
}

// kind adds edges from the resources that make the resource's kind available.
func (refs *references) kind(r Resource) {
	for _, m := range refs.providers[groupKind{r.Group, r.Kind}] {
		refs.edge(m.at, Ready, exists, m.rule, "its kind is provided by")
	}
	for _, server := range refs.apiServices[groupVersion{r.Group, r.Version}] {
		refs.edge(server, Ready, exists, "apiservice", "its kind is served by")
	}
}

// providersOf returns the resources that make a resource's kind available.
func (ix *index) providersOf(r Resource) []object.ID {
	var ids []object.ID
	for _, m := range ix.providers[groupKind{r.Group, r.Kind}] {
		ids = append(ids, ix.resources[m.at].ID)
	}
	for _, server := range ix.apiServices[groupVersion{r.Group, r.Version}] {
		ids = append(ids, ix.resources[server].ID)
	}
	return ids
}

// definedKind returns the kind that a CRD defines.
func definedKind(crd map[string]any) groupKind {
	return groupKind{str(crd, "spec", "group"), str(crd, "spec", "names", "kind")}
}

// isCustom reports whether a resource is a custom resource.
func (ix *index) isCustom(id object.ID) bool {
	_, defined := ix.crds[groupKind{id.Group, id.Kind}]
	return defined || !object.IsNative(id.Group)
}

// plural returns the resource name of a kind for RBAC and webhook rules: from
// its CRD if the stream has it, else the usual English plural.
func (ix *index) plural(id object.ID) string {
	if crd, ok := ix.crds[groupKind{id.Group, id.Kind}]; ok {
		return str(ix.resources[crd].Object, "spec", "names", "plural")
	}
	return object.GuessPlural(id.Kind)
}
