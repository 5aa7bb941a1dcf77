package ordering

import (
	"fmt"
	"strings"

	"github.com/ordapply/ordapply/object"
)

// ProvidesAnnotation lists, as group/Kind and comma-separated, the kinds that a
// resource brings into the cluster once it is ready.
const ProvidesAnnotation = "ordapply.dev/provides"

// addMakers notes which kinds a resource brings into the cluster.
func (ix *index) addMakers(i int, r Resource) {
	switch {
	case isCRD(r.ID):
		kind := definedKind(r.Object)
		ix.crds[kind] = i
		ix.definers[kind.group] = append(ix.definers[kind.group], i)
		ix.makers[kind] = append(ix.makers[kind], maker{i, "crd"})
	case r.Group == "templates.gatekeeper.sh" && r.Kind == "ConstraintTemplate":
		kind := groupKind{"constraints.gatekeeper.sh", str(r.Object, "spec", "crd", "spec", "names", "kind")}
		ix.makers[kind] = append(ix.makers[kind], maker{i, "constraint-template"})
	case r.Group == "apiregistration.k8s.io" && r.Kind == "APIService":
		if at(r.Object, "spec", "service") != nil {
			served := groupVersion{str(r.Object, "spec", "group"), str(r.Object, "spec", "version")}
			ix.servers[served] = append(ix.servers[served], i)
		}
	}
	for _, kind := range splitList(r.Annotations[ProvidesAnnotation]) {
		if group, name, ok := strings.Cut(kind, "/"); ok {
			ix.makers[groupKind{group, name}] = append(ix.makers[groupKind{group, name}], maker{i, "provides"})
		}
	}
}

// checkProvides refuses entries that are no group/Kind.
func checkProvides(r Resource) error {
	if err := CheckProvides(r.Annotations[ProvidesAnnotation]); err != nil {
		return fmt.Errorf("%s: annotation %s: %w", r.ID, ProvidesAnnotation, err)
	}
	return nil
}

// CheckProvides reports what is wrong with a value of ProvidesAnnotation.
func CheckProvides(value string) error {
	for _, kind := range splitList(value) {
		if _, name, ok := strings.Cut(kind, "/"); !ok || name == "" || strings.Contains(name, "/") {
			return fmt.Errorf("%q is not group/Kind, such as constraints.gatekeeper.sh/K8sRequiredLabels", kind)
		}
	}
	return nil
}

// kind: the API server knows a kind when what makes it is ready.
func (refs *references) kind(r Resource) {
	for _, m := range refs.makers[groupKind{r.Group, r.Kind}] {
		refs.edge(m.at, Ready, exists, m.rule, "its kind is made by")
	}
	for _, server := range refs.servers[groupVersion{r.Group, r.Version}] {
		refs.edge(server, Ready, exists, "apiservice", "its kind is served by")
	}
}

// makersOf are the resources that bring a resource's kind into the cluster.
func (ix *index) makersOf(r Resource) []object.ID {
	var ids []object.ID
	for _, m := range ix.makers[groupKind{r.Group, r.Kind}] {
		ids = append(ids, ix.resources[m.at].ID)
	}
	for _, server := range ix.servers[groupVersion{r.Group, r.Version}] {
		ids = append(ids, ix.resources[server].ID)
	}
	return ids
}

// definedKind is the kind that a CustomResourceDefinition defines.
func definedKind(crd map[string]any) groupKind {
	return groupKind{str(crd, "spec", "group"), str(crd, "spec", "names", "kind")}
}

// isCustom tells custom resources from those of Kubernetes itself.
func (ix *index) isCustom(id object.ID) bool {
	_, defined := ix.crds[groupKind{id.Group, id.Kind}]
	return defined || !object.OfKubernetes(id.Group)
}

// plural is the name under which rules speak of a kind: the CRD's, where the
// stream holds it, else the usual English plural.
func (ix *index) plural(id object.ID) string {
	if crd, ok := ix.crds[groupKind{id.Group, id.Kind}]; ok {
		return str(ix.resources[crd].Object, "spec", "names", "plural")
	}
	name := strings.ToLower(id.Kind)
	if stem, ok := strings.CutSuffix(name, "y"); ok {
		return stem + "ies"
	}
	if strings.HasSuffix(name, "s") || strings.HasSuffix(name, "ss") {
		return name + "es"
	}
	return name + "s"
}
