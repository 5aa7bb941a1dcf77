package references

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/ordapply/ordapply/internal/plan/graph"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// addProviders records the kinds that a resource makes available.
func (ix *Index) addProviders(i int, r ordering.Resource) {
	switch {
	case r.ID.IsCRD():
		kind := DefinedKind(r.Object)
		ix.CRDs[kind] = i
		ix.CRDsByGroup[kind.Group] = append(ix.CRDsByGroup[kind.Group], i)
		ix.providers[kind] = append(ix.providers[kind], provider{i, "crd"})
	case r.Group == "apiregistration.k8s.io" && r.Kind == "APIService":
		if Field(r.Object, "spec", "service") != nil {
			served := groupVersion{String(r.Object, "spec", "group"), String(r.Object, "spec", "version")}
			ix.apiServices[served] = append(ix.apiServices[served], i)
		}
	}
	rule, kinds := definedKinds(r)
	for _, kind := range kinds {
		if kind.Group != "" && kind.Kind != "" {
			ix.providers[kind] = append(ix.providers[kind], provider{i, rule})
		}
	}
	for _, kind := range SplitList(r.Annotations[ordering.ProvidesAnnotation]) {
		if group, name, ok := strings.Cut(kind, "/"); ok {
			ix.providers[GroupKind{group, name}] = append(ix.providers[GroupKind{group, name}], provider{i, "provides"})
		}
	}
}

// definedKinds returns the kinds for which a controller makes a CRD once it has read a
// resource.
func definedKinds(r ordering.Resource) (ordering.Rule, []GroupKind) {
	switch r.GroupKind() {
	case "ConstraintTemplate.templates.gatekeeper.sh":
		return "constraint-template", []GroupKind{{"constraints.gatekeeper.sh", String(r.Object, "spec", "crd", "spec", "names", "kind")}}
	case "CompositeResourceDefinition.apiextensions.crossplane.io":
		group := String(r.Object, "spec", "group")
		return "composite", []GroupKind{{group, String(r.Object, "spec", "names", "kind")}, {group, String(r.Object, "spec", "claimNames", "kind")}}
	case "ResourceGraphDefinition.kro.run":
		schema := Field(r.Object, "spec", "schema")
		return "resource-graph", []GroupKind{{cmp.Or(String(schema, "group"), "kro.run"), String(schema, "kind")}}
	}
	return "", nil
}

// CheckProvidesOf returns the error in a resource's ProvidesAnnotation, or nil.
func CheckProvidesOf(r ordering.Resource) error {
	if err := CheckProvides(r.Annotations[ordering.ProvidesAnnotation]); err != nil {
		return fmt.Errorf("%s: annotation %s: %w", r.ID, ordering.ProvidesAnnotation, err)
	}
	return nil
}

// CheckProvides returns the syntax error in a value of ProvidesAnnotation, or nil.
func CheckProvides(value string) error {
	for _, kind := range SplitList(value) {
		if _, name, ok := strings.Cut(kind, "/"); !ok || name == "" || strings.Contains(name, "/") {
			return fmt.Errorf("%q is not group/Kind, such as constraints.gatekeeper.sh/K8sRequiredLabels", kind)
		}
	}
	return nil
}

// kind adds edges from the resources that make the resource's kind available.
func (refs *references) kind(r ordering.Resource) {
	for _, m := range refs.providers[GroupKind{r.Group, r.Kind}] {
		refs.edge(m.at, ordering.Ready, graph.Exists, m.rule, "its kind is provided by")
	}
	for _, server := range refs.apiServices[groupVersion{r.Group, r.Version}] {
		refs.edge(server, ordering.Ready, graph.Exists, "apiservice", "its kind is served by")
	}
}

// ProvidersOf returns the resources that make a resource's kind available.
func (ix *Index) ProvidersOf(r ordering.Resource) []object.ID {
	var ids []object.ID
	for _, m := range ix.providers[GroupKind{r.Group, r.Kind}] {
		ids = append(ids, ix.Resources[m.at].ID)
	}
	for _, server := range ix.apiServices[groupVersion{r.Group, r.Version}] {
		ids = append(ids, ix.Resources[server].ID)
	}
	return ids
}

// DefinedKind returns the kind that a CRD defines.
func DefinedKind(crd map[string]any) GroupKind {
	return GroupKind{String(crd, "spec", "group"), String(crd, "spec", "names", "kind")}
}

// IsCustom reports whether a resource is a custom resource.
func (ix *Index) IsCustom(id object.ID) bool {
	_, defined := ix.CRDs[GroupKind{id.Group, id.Kind}]
	return defined || !object.IsNative(id.Group)
}

// plural returns the resource name of a kind for RBAC and webhook rules: from
// its CRD if the stream has it, else the usual English plural.
func (ix *Index) plural(id object.ID) string {
	if crd, ok := ix.CRDs[GroupKind{id.Group, id.Kind}]; ok {
		return String(ix.Resources[crd].Object, "spec", "names", "plural")
	}
	return object.GuessPlural(id.Kind)
}

// HasNoStatus reports whether a version of a CRD has a schema, and neither it nor a
// subresource has a status.
func HasNoStatus(crd map[string]any, version string) bool {
	for _, v := range List(crd, "spec", "versions") {
		if String(v, "name") == version {
			schema := Field(v, "schema", "openAPIV3Schema")
			return Field(schema, "properties") != nil && Field(schema, "properties", "status") == nil && Field(v, "subresources", "status") == nil
		}
	}
	return false
}
