package state

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/object"
)

// checkNeededDefinitions returns an error where the stream drops a
// CustomResourceDefinition and keeps custom resources of it: the author has
// to decide which is meant (k8sconnect ADR-007, scenario 4). A rollback is
// exempt, because its revision was valid: the definition is then kept, like
// any definition with custom resources that are not deleted.
func (r Run) checkNeededDefinitions(gone map[object.ID]*unstructured.Unstructured) error {
	if r.Metadata.Revision.Rollback > 0 {
		return nil
	}
	users := map[string]object.ID{} // by the name of their definition
	for _, id := range slices.SortedFunc(maps.Keys(r.Stream.Objects), object.Compare) {
		kind, served := r.Cluster.Kind(r.Stream.Objects[id].GroupVersionKind())
		if name := kind.Resource.Resource + "." + id.Group; served && users[name] == (object.ID{}) {
			users[name] = id
		}
	}
	var errs []error
	for _, id := range slices.SortedFunc(maps.Keys(gone), object.Compare) {
		user, needed := users[id.Name]
		if id.GroupKind() != "CustomResourceDefinition.apiextensions.k8s.io" || !needed || applyset.Protection(gone[id], applyset.Prune) != "" {
			continue
		}
		errs = append(errs, fmt.Errorf("the stream no longer contains %s but still contains %s, which would be deleted with it: nothing was pruned; add the definition again, or keep it with kubectl annotate crd %s ordapply.dev/lifecycle=keep",
			id, user, id.Name))
	}
	return errors.Join(errs...)
}

// essentialNamespaceReason returns why a Namespace must be kept: it holds the set's records,
// or resources or hooks of the stream.
func (r Run) essentialNamespaceReason(id object.ID) string {
	if id.Group != "" || id.Kind != "Namespace" {
		return ""
	}
	if id.Name == r.Namespace {
		return "it holds the apply set"
	}
	var inside []object.ID
	for member := range r.Stream.Objects {
		if member.Namespace == id.Name {
			inside = append(inside, member)
		}
	}
	for _, hook := range r.hooks() {
		if hook.ID.Namespace == id.Name {
			inside = append(inside, hook.ID)
		}
	}
	if len(inside) == 0 {
		return ""
	}
	first := slices.MinFunc(inside, object.Compare)
	if more := len(inside) - 1; more > 0 {
		return fmt.Sprintf("it contains %s and %d more resources of this stream", first, more)
	}
	return fmt.Sprintf("it contains %s of this stream", first)
}
