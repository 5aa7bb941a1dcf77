package state

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/kube"
)

// Cluster is the set of API server calls that storing state needs.
type Cluster interface {
	kube.Cluster
	// StoredKinds lists the kinds whose objects may be listed and deleted,
	// each in its newest version, sorted. It makes no request.
	StoredKinds() []schema.GroupVersionKind
	// Create creates an object; AlreadyExists when there is one of its name.
	Create(context.Context, kube.Kind, *unstructured.Unstructured) (*unstructured.Unstructured, error)
	// Update replaces an object; a conflict when its resourceVersion has
	// changed since it was read.
	Update(context.Context, kube.Kind, *unstructured.Unstructured) (*unstructured.Unstructured, error)
	// RemoveLabel removes a label from an object; a conflict when its
	// resourceVersion has changed since it was read.
	RemoveLabel(ctx context.Context, kind kube.Kind, live *unstructured.Unstructured, label, manager string) error
	// SetManagedFields replaces the managedFields of an object; a conflict
	// when its resourceVersion has changed since it was read.
	SetManagedFields(ctx context.Context, kind kube.Kind, live *unstructured.Unstructured, entries []metav1.ManagedFieldsEntry, manager string) error
}
