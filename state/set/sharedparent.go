package set

import (
	"context"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/internal/fields"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/state/history"
)

// A parent is a name and some metadata. If the object has content, or another tool applies
// it, it is used for something else as well, such as a Secret of the same name in another
// stream, and must outlive the set.

// isSharedParent reports whether a live parent is used for something else as well. Labels and
// annotations that others wrote without applying the object, as controllers do that label
// everything, are no use.
func (s *Set) isSharedParent(live *unstructured.Unstructured) bool {
	for field, value := range live.Object {
		switch field {
		case "apiVersion", "kind", "metadata", "status", "type":
			continue
		}
		if content, isMap := value.(map[string]any); !isMap || len(content) > 0 {
			return true
		}
	}
	return slices.ContainsFunc(live.GetManagedFields(), func(entry metav1.ManagedFieldsEntry) bool {
		applies := entry.Operation == metav1.ManagedFieldsOperationApply || kube.ClientSideManagers().Has(entry.Manager)
		return applies && entry.Subresource == "" && !s.Parent.IsManager(entry.Manager) && ownsOtherFields(entry)
	})
}

// ownsOtherFields reports whether an entry of managedFields has a field other than the labels
// and annotations of a set's parent.
func ownsOtherFields(entry metav1.ManagedFieldsEntry) bool {
	found := false
	applyset.FieldsOf(entry).Iterate(func(path fieldpath.Path) {
		if fields.StartsWith(path, "metadata", "labels") || fields.StartsWith(path, "metadata", "annotations") {
			found = found || len(path) > 2 && !isParentKey(*path[2].FieldName)
			return
		}
		found = true
	})
	return found
}

func isParentKey(key string) bool {
	return strings.HasPrefix(key, "applyset.kubernetes.io/") || slices.Contains(parentAnnotations(), key)
}

// parentAnnotations are the annotations of ordapply on a parent.
func parentAnnotations() []string {
	return []string{DigestAnnotation, NumberAnnotation, RecordsNamespaceAnnotation, history.VouchersAnnotation, FormerAnnotation, TakenFromAnnotation}
}

// releaseParent removes the labels and annotations of the set from its parent: the set's manager
// takes them over from other managers, and then applies the parent without them.
func (s *Set) releaseParent(ctx context.Context) error {
	if err := s.migrateParent(ctx); err != nil {
		return err
	}
	live, err := s.cluster.Get(ctx, s.kind, s.Parent.ID.Namespace, s.Parent.ID.Name)
	if err != nil {
		return err
	}
	bare := &unstructured.Unstructured{}
	bare.SetGroupVersionKind(schema.GroupVersionKind{Group: s.Parent.ID.Group, Version: s.version, Kind: s.Parent.ID.Kind})
	bare.SetNamespace(live.GetNamespace())
	bare.SetName(live.GetName())
	bare.SetUID(live.GetUID())
	bare.SetResourceVersion(live.GetResourceVersion())
	if _, err := s.cluster.Apply(ctx, s.kind, bare, kube.PatchOptions{Manager: s.Parent.Manager("ordapply"), Force: true}); err != nil {
		return err
	}
	s.released = fmt.Sprintf("%s is kept, without the labels and annotations of the apply set: it is also used for something else", s.Parent.ID)
	return nil
}

// ReleaseNote describes a parent that Delete kept; "" when it was deleted.
func (s *Set) ReleaseNote() string { return s.released }
