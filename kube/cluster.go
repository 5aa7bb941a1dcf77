package kube

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/object"
)

// Cluster is the set of API server calls that runs need. Methods that make a
// request return the API server's error as client-go does, to be tested with
// k8s.io/apimachinery/pkg/api/errors, and may be called by many goroutines at
// once.
type Cluster interface {
	// Fenced returns the same cluster for a run that writes only while it holds a lock:
	// each request that writes calls fence right before it is sent, and again when it was
	// answered. It replaces the fence of a cluster that has one.
	Fenced(fence Fence) Cluster
	// WithOwnConnection returns the same cluster, without a fence, over a connection of its
	// own: its requests do not queue behind others.
	WithOwnConnection() Cluster
	// Kind returns how the API server serves a kind; false when discovery
	// does not list it yet. It makes no request.
	Kind(schema.GroupVersionKind) (Kind, bool)
	// Versions lists the versions in which a kind is served, newest first: v1
	// before v1beta1. It makes no request.
	Versions(schema.GroupKind) []string
	// Unreadable returns the error with which discovery of a group-version
	// failed, usually an APIService whose backend does not answer. It is nil
	// when discovery succeeded or does not list the group-version. It makes
	// no request.
	Unreadable(schema.GroupVersion) error
	// AllUnreadable lists the group-versions whose discovery failed, sorted.
	// It makes no request.
	AllUnreadable() []schema.GroupVersion
	// Refresh repeats discovery for these group-versions only. An empty
	// version stands for every version of the group.
	Refresh(context.Context, ...schema.GroupVersion) error
	// Schema returns the OpenAPI schema that the API server publishes for a custom
	// resource's kind; nil when it publishes none.
	Schema(context.Context, schema.GroupVersionKind) (map[string]any, error)
	// Apply sends one server-side apply PATCH and returns the object from the
	// server's answer; a conflict when other managers own fields, unless forced.
	Apply(context.Context, Kind, *unstructured.Unstructured, PatchOptions) (*unstructured.Unstructured, error)
	// DryRunCreate returns the error with which the API server would reject a new object: it
	// validates and admits it, and stores nothing. A name that is taken is no error.
	DryRunCreate(ctx context.Context, kind Kind, obj *unstructured.Unstructured) error
	// Create creates an object and returns the stored one; AlreadyExists when there is one
	// of its name.
	Create(context.Context, Kind, *unstructured.Unstructured) (*unstructured.Unstructured, error)
	// Update replaces an object and returns the stored one; a conflict when its
	// resourceVersion has changed since it was read.
	Update(context.Context, Kind, *unstructured.Unstructured) (*unstructured.Unstructured, error)
	// Get reads one object; NotFound when there is none.
	Get(ctx context.Context, kind Kind, namespace, name string) (*unstructured.Unstructured, error)
	// List reads the objects of a kind in a namespace that match a query. An
	// empty namespace means all namespaces.
	List(ctx context.Context, kind Kind, namespace string, query Query) ([]*unstructured.Unstructured, error)
	// Logs reads the last lines of a container's log, without line ends.
	Logs(ctx context.Context, pod object.ID, container string, options LogOptions) ([]string, error)
	// Delete deletes a live object, with its uid as precondition, and its
	// dependents. It returns when the request is accepted: finalizers may keep
	// the object for a while.
	Delete(ctx context.Context, kind Kind, live *unstructured.Unstructured, options DeleteOptions) error
	// NamespacedKinds lists the namespaced kinds whose objects may be listed
	// and deleted, each in one version, sorted. It makes no request.
	NamespacedKinds() []schema.GroupVersionKind
	// StoredKinds lists the kinds whose objects may be listed and deleted,
	// each in one version, sorted. It makes no request.
	StoredKinds() []schema.GroupVersionKind
	// Release makes an object a member of another apply set, or of none for "": it changes
	// the label, removes the fingerprint of the last apply, replaces managedFields, and
	// returns the object; a conflict when its resourceVersion has changed since it was read.
	Release(ctx context.Context, kind Kind, live *unstructured.Unstructured, owner string, entries []metav1.ManagedFieldsEntry, manager string) (*unstructured.Unstructured, error)
	// Join makes an object of no apply set a member of one: it adds the label, which manager
	// then owns by an update, replaces managedFields, and returns the object; a conflict when
	// its resourceVersion has changed since it was read.
	Join(ctx context.Context, kind Kind, live *unstructured.Unstructured, set string, entries []metav1.ManagedFieldsEntry, manager string) (*unstructured.Unstructured, error)
	// Migrate writes the managedFields of a migration of the fields of a live
	// object to manager. It returns a conflict when the object has another
	// resourceVersion than live.
	Migrate(ctx context.Context, kind Kind, live *unstructured.Unstructured, migration applyset.OwnershipMigration, manager string) error
	// Claim makes manager the owner of fields of a live object that other
	// managers wrote by updates, so that its next apply removes them, and
	// returns the object. It returns a conflict when the object has another
	// resourceVersion than live.
	Claim(ctx context.Context, kind Kind, live *unstructured.Unstructured, fields *fieldpath.Set, manager string) (*unstructured.Unstructured, error)
	// SetManagedFields replaces the managedFields of a live object, for example to take
	// back a claim. It returns a conflict when the object has another resourceVersion than
	// live.
	SetManagedFields(ctx context.Context, kind Kind, live *unstructured.Unstructured, entries []metav1.ManagedFieldsEntry, manager string) error
	// Allowed reports whether the account has a permission; "*" stands for every resource.
	Allowed(context.Context, Permission) (bool, error)
	// HasEndpoints reports whether a Service has a ready endpoint.
	HasEndpoints(ctx context.Context, service object.ID) (bool, error)
	// Watch calls changed with the objects of a kind that match the labels
	// and fields of a query, first as a list and then one by one as they
	// change, until ctx is done. An empty namespace means all namespaces.
	// Watch lists again by itself when a watch breaks.
	Watch(ctx context.Context, kind Kind, namespace string, query Query, changed func(WatchEvent))
}

// Kind is how an API server serves a kind of object.
type Kind struct {
	Resource   schema.GroupVersionResource // the name in URLs and Roles
	Namespaced bool
	HasStatus  bool // has a status subresource, which a controller may write
	Stored     bool // objects may be listed and deleted
}

// CRDName returns the name that a kind's CustomResourceDefinition has, if there
// is one.
func (k Kind) CRDName() string { return k.Resource.GroupResource().String() }

// PatchOptions are the options of one server-side apply.
type PatchOptions struct {
	Manager string // the field manager
	Force   bool   // take fields from other managers
	DryRun  bool   // let the server validate and admit, but not store
}

// DeleteOptions are the options of one deletion.
type DeleteOptions struct {
	Unchanged  bool // precondition: the resourceVersion that was read, else only the uid
	Foreground bool // foreground propagation: dependents are deleted first; otherwise background
	DryRun     bool // let the server validate it, but delete nothing
}

// Query selects objects for a List. Its zero value selects all.
type Query struct {
	Labels, Fields string // selectors, as kubectl's -l and --field-selector
	Limit          int64  // of objects in the answer; 0 is no limit
	Metadata       bool   // only the objects' metadata is needed
	Quiet          bool   // drop the API server's warnings: the user did not name the kind
	// NotOlderThan is the resource version of an object of the kind: the answer has that state or a
	// later one. Without it the answer is the latest state. An API server reads that from its watch
	// cache since Kubernetes 1.31, which takes up to 0.1 s when other kinds were written since.
	// With AnyState the answer may be a state of some time ago.
	NotOlderThan string
}

// AnyState is the Query.NotOlderThan that every state meets: the API server answers from its watch
// cache at once, and does not ask etcd whether that is up to date.
const AnyState = "0"

// LogOptions select what to read of a container's log.
type LogOptions struct {
	Previous bool // of the container's previous instance
	Lines    int  // at most, from the end
	Bytes    int  // at most, of these lines from the first; default 64 KiB
}

// WatchEvent is one notification of a watch: the full list, one changed object,
// an error that ended the watch, or a change of its connection.
type WatchEvent struct {
	Listed       bool                         // Objects is the full list
	Deleted      bool                         // the one object was deleted, or matches the query no longer
	Forbidden    error                        // the watch ended: it is not allowed or not possible
	Disconnected error                        // the watch could not be opened and will be retried
	Reconnected  bool                         // the watch is open again after Disconnected
	Objects      []*unstructured.Unstructured // one, unless Listed
}
