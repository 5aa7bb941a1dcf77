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

// neededDefinitions is an error where the stream drops a CustomResourceDefinition and
// keeps custom resources of it: a mistake of its author, who has to say which is meant
// (k8sconnect ADR-007, scenario 4). What a rollback goes back to was right as it was: the
// definition is kept then, as one is of which only others have custom resources.
func (r Run) neededDefinitions(gone map[object.ID]*unstructured.Unstructured) error {
	if r.Memory.Revision.Rollback > 0 {
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
		if id.GroupKind() != "CustomResourceDefinition.apiextensions.k8s.io" || !needed || applyset.Protection(gone[id]) != "" {
			continue
		}
		errs = append(errs, fmt.Errorf("the stream no longer holds %s, and still holds %s, which would go with it: nothing was pruned; add the definition again, or keep it with kubectl annotate crd %s ordapply.dev/lifecycle=keep",
			id, user, id.Name))
	}
	return errors.Join(errs...)
}
