package loop

import (
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
)

// WatchKey identifies a watch: of a kind's objects, in all namespaces or one,
// narrowed to the members of an apply set, to a name, to the EndpointSlices of a
// Service, to the Pods of a workload, or to the events about an object.
type WatchKey struct {
	Resource  schema.GroupVersionResource
	Namespace string // "" for all
	Set       string // the id; "" for members and others
	Name      string // "" for any
	Service   string // of its EndpointSlices; "" for other objects
	Labels    string // of the Pods of one workload; "" for any
	About     string // uid of the object that events are about; "" for other objects
	Metadata  bool   // only metadata is needed
}

// query returns the selectors of a watch.
func (k WatchKey) query() kube.Query {
	q := kube.Query{Metadata: k.Metadata}
	if k.Set != "" {
		q.Labels = applyset.PartOfLabel + "=" + k.Set
	}
	if k.Service != "" {
		q.Labels = kube.EndpointsOf(k.Service).Labels
	}
	if k.Labels != "" {
		q.Labels = k.Labels
	}
	if k.About != "" {
		q.Fields = "involvedObject.uid=" + k.About
	}
	if k.Name != "" {
		q.Fields = "metadata.name=" + k.Name
	}
	return q
}

// KindNamespace is a kind in a namespace.
type KindNamespace struct {
	group, kind, namespace string
}

// KindNamespaceOf returns the kind and namespace of a resource.
func KindNamespaceOf(id object.ID) KindNamespace {
	return KindNamespace{id.Group, id.Kind, id.Namespace}
}

// WatchSelector chooses the watches of a run: as few as possible without reporting
// unrelated objects. Objects are watched by name where there are one or two of a kind, members
// of an apply set by its label, in all namespaces at once, and others by kind and namespace. A
// watch of all namespaces that is forbidden is replaced by one for each.
type WatchSelector struct {
	Set       string                // "" for none
	counts    map[KindNamespace]int // number of the run's objects of one kind in one namespace
	spread    map[string]spread     // by kind
	Forbidden map[WatchKey]bool     // watches that are forbidden
}

// spread counts the objects of a kind in a run, and their namespaces.
type spread struct{ objects, namespaces int }

// NewWatchSelector returns a selector for the members of an apply set, or for no set if
// the id is "".
func NewWatchSelector(set string) WatchSelector {
	return WatchSelector{Set: set, counts: map[KindNamespace]int{}, spread: map[string]spread{}, Forbidden: map[WatchKey]bool{}}
}

// Count adds an object of the run.
func (w WatchSelector) Count(id object.ID) {
	s := w.spread[id.GroupKind()]
	s.objects++
	if w.counts[KindNamespaceOf(id)]++; w.counts[KindNamespaceOf(id)] == 1 {
		s.namespaces++
	}
	w.spread[id.GroupKind()] = s
}

// MaxNamedWatches is the number of objects of a kind up to which they are watched by name.
const MaxNamedWatches = 2

// Of returns the watch that reports an object. unlabelled is set for an object
// without the set's label, which the label's watch does not report.
func (w WatchSelector) Of(kind kube.Kind, id object.ID, unlabelled bool) WatchKey {
	set := w.Set
	if unlabelled {
		set = ""
	}
	everywhere := WatchKey{Resource: kind.Resource, Set: set}
	there := WatchKey{Resource: kind.Resource, Set: set, Namespace: id.Namespace}
	switch s := w.spread[id.GroupKind()]; {
	case set != "" && s.namespaces > 1 && s.objects > MaxNamedWatches && !w.Forbidden[everywhere]:
		return everywhere
	case w.counts[KindNamespaceOf(id)] > MaxNamedWatches:
		return there
	}
	return WatchKey{Resource: kind.Resource, Namespace: id.Namespace, Name: id.Name}
}

// KeyedWatchEvent is a change and the watch that reported it.
type KeyedWatchEvent struct {
	WatchKey
	kube.WatchEvent
}

// PollEvery is the interval between two reads of an object that may be read
// but not watched.
const PollEvery = 2 * time.Second

// MaxBackoff caps the backoff between two reads of something that may not
// be watched and seldom changes.
const MaxBackoff = 15 * time.Second
