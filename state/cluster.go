package state

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/apply"
)

// Cluster is what keeping state needs of an API server.
type Cluster interface {
	apply.Cluster
	// StoredKinds lists the kinds of objects that may be listed and deleted, each
	// in one version, sorted. It makes no request.
	StoredKinds() []schema.GroupVersionKind
	// Create stores a new object; an error when there is one of its name.
	Create(context.Context, apply.Kind, *unstructured.Unstructured) (*unstructured.Unstructured, error)
	// Update replaces an object; an error when it is no longer the version that
	// it was read as.
	Update(context.Context, apply.Kind, *unstructured.Unstructured) (*unstructured.Unstructured, error)
	// Unlabel takes a label from an object; a conflict when it is no longer the
	// version that it was read as.
	Unlabel(ctx context.Context, kind apply.Kind, live *unstructured.Unstructured, label, manager string) error
	// SetManagedFields changes who owns which fields of an object; a conflict when
	// it is no longer the version that it was read as.
	SetManagedFields(ctx context.Context, kind apply.Kind, live *unstructured.Unstructured, entries []metav1.ManagedFieldsEntry, manager string) error
}
