package apply

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ordapply/ordapply/object"
)

// Cluster is the few calls that applying makes on an API server.
type Cluster interface {
	// Kind tells how the API server serves a kind; false when discovery has
	// not shown it yet. It makes no request.
	Kind(schema.GroupVersionKind) (Kind, bool)
	// Versions lists the versions under which a kind is served, the newest first:
	// v1 before v1beta1. It makes no request.
	Versions(schema.GroupKind) []string
	// Unreadable is why discovery could not say what a group-version holds: as a
	// rule an APIService whose backend does not answer. It is nil when it could,
	// or does not know of the group-version. It makes no request.
	Unreadable(schema.GroupVersion) error
	// AllUnreadable lists the group-versions that discovery could not read,
	// sorted. It makes no request.
	AllUnreadable() []schema.GroupVersion
	// Refresh asks discovery again, for these group-versions only. One without
	// a version stands for every version of its group.
	Refresh(context.Context, ...schema.GroupVersion) error
	// Apply sends one server-side apply PATCH and returns the object as the
	// server then has it.
	Apply(context.Context, Kind, *unstructured.Unstructured, PatchOptions) (*unstructured.Unstructured, error)
	// Get reads one object.
	Get(ctx context.Context, kind Kind, namespace, name string) (*unstructured.Unstructured, error)
	// List reads the objects of a kind in a namespace that a query asks for.
	List(ctx context.Context, kind Kind, namespace string, query Query) ([]*unstructured.Unstructured, error)
	// Logs reads the last lines of a container's log.
	Logs(ctx context.Context, pod object.ID, container string, options LogOptions) ([]string, error)
	// Delete deletes a live object, that very one, and what it owns. Its
	// finalizers may keep it for a while.
	Delete(ctx context.Context, kind Kind, live *unstructured.Unstructured, options DeleteOptions) error
	// NamespacedKinds lists the kinds of objects that live in namespaces and may
	// be listed and deleted, each in one version, sorted. It makes no request.
	NamespacedKinds() []schema.GroupVersionKind
	// Migrate makes manager the owner of the fields that kubectl's client-side
	// apply and the Apply entries of predecessors own on a live object.
	Migrate(ctx context.Context, kind Kind, live *unstructured.Unstructured, predecessors []string, manager string) error
	// Claim makes manager the owner of fields of a live object that others wrote by
	// updates, so that its next apply removes them, and returns the object. It is
	// refused when the object is no longer the version that was read.
	Claim(ctx context.Context, kind Kind, live *unstructured.Unstructured, fields *fieldpath.Set, manager string) (*unstructured.Unstructured, error)
	// HasEndpoints tells whether a Service has an endpoint that is ready.
	HasEndpoints(ctx context.Context, service object.ID) (bool, error)
	// Watch reports the objects of a kind in a namespace, "" for all of them, that
	// a query asks for by labels and fields, first as a list and then as they
	// change, until ctx is done. It lists again by itself when a watch breaks.
	Watch(ctx context.Context, kind Kind, namespace string, query Query, changed func(Change))
}

// Kind is how an API server serves a kind of object.
type Kind struct {
	Resource   schema.GroupVersionResource
	Namespaced bool
	HasStatus  bool // objects have a status subresource, which a controller may fill
	Stored     bool // objects may be listed and deleted
}

// PatchOptions are those of one server-side apply.
type PatchOptions struct {
	Manager string // the field manager
	Force   bool   // take fields from other managers
	DryRun  bool   // let the server validate and admit, but not store
}

// DeleteOptions are those of one deletion.
type DeleteOptions struct {
	Unchanged  bool // refuse it when the object is no longer the version that was read
	Foreground bool // what it owns goes before it; else after it
	DryRun     bool // let the server check it, but delete nothing
}

// Query narrows a List. Its zero value asks for everything.
type Query struct {
	Labels, Fields string // selectors, as kubectl's -l and --field-selector
	Limit          int64  // on the objects of the answer; 0 is none
	Metadata       bool   // no more than the objects' metadata is needed
}

// LogOptions say what to read of a container's log.
type LogOptions struct {
	Previous bool // of its last run but one
	Lines    int  // at most, from the end
}

// Change is what a watch saw: all objects there are, or one that changed; or
// that it may not watch; or how it gets on.
type Change struct {
	Listed    bool                         // Objects are all there are
	Deleted   bool                         // the one object is gone, or the query asks for it no longer
	Forbidden error                        // the watch ended here: it may not or cannot be
	Lost      error                        // it could not be opened, and will be tried again
	Back      bool                         // it was lost, and is open again
	Objects   []*unstructured.Unstructured // one, unless Listed
}
