package apply

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
)

// watchKey identifies a watch: of a kind's objects, in all namespaces or one,
// narrowed to the members of an apply set, to a name, to the EndpointSlices
// of a Service, to the Pods of a workload, or to the events about an object.
type watchKey struct {
	resource  schema.GroupVersionResource
	namespace string // "" for all
	set       string // the id; "" for members and others
	name      string // "" for any
	service   string // of its EndpointSlices; "" for other objects
	labels    string // of the Pods of one workload; "" for any
	about     string // uid of the object that events are about; "" for other objects
	metadata  bool   // only metadata is needed
}

// query returns the selectors of a watch.
func (k watchKey) query() kube.Query {
	q := kube.Query{Metadata: k.metadata}
	if k.set != "" {
		q.Labels = applyset.PartOfLabel + "=" + k.set
	}
	if k.service != "" {
		q.Labels = kube.EndpointsOf(k.service).Labels
	}
	if k.labels != "" {
		q.Labels = k.labels
	}
	if k.about != "" {
		q.Fields = "involvedObject.uid=" + k.about
	}
	if k.name != "" {
		q.Fields = "metadata.name=" + k.name
	}
	return q
}

// kindNamespace is a kind in a namespace.
type kindNamespace struct {
	group, kind, namespace string
}

func kindNamespaceOf(id object.ID) kindNamespace {
	return kindNamespace{id.Group, id.Kind, id.Namespace}
}

// watchSelector chooses the watches of a run: as few as possible without reporting
// unrelated objects. Objects are watched by name where there are one or two
// of a kind, members of an apply set by its label, in all namespaces at once,
// and others by kind and namespace. A watch of all namespaces that is
// forbidden is replaced by one for each.
type watchSelector struct {
	set       string                // "" for none
	counts    map[kindNamespace]int // number of the run's objects of one kind in one namespace
	spread    map[string]spread     // by kind
	forbidden map[watchKey]bool     // watches that are forbidden
}

// spread counts the objects of a kind in a run, and their namespaces.
type spread struct{ objects, namespaces int }

func newWatchSelector(set string) watchSelector {
	return watchSelector{set: set, counts: map[kindNamespace]int{}, spread: map[string]spread{}, forbidden: map[watchKey]bool{}}
}

// count adds an object of the run.
func (w watchSelector) count(id object.ID) {
	s := w.spread[id.GroupKind()]
	s.objects++
	if w.counts[kindNamespaceOf(id)]++; w.counts[kindNamespaceOf(id)] == 1 {
		s.namespaces++
	}
	w.spread[id.GroupKind()] = s
}

// maxNamedWatches is the number of objects of a kind up to which they are watched by
// name.
const maxNamedWatches = 2

// of returns the watch that reports an object. stray is set for an object
// without the set's label, which the label's watch does not report.
func (w watchSelector) of(kind kube.Kind, id object.ID, stray bool) watchKey {
	set := w.set
	if stray {
		set = ""
	}
	everywhere := watchKey{resource: kind.Resource, set: set}
	there := watchKey{resource: kind.Resource, set: set, namespace: id.Namespace}
	switch s := w.spread[id.GroupKind()]; {
	case set != "" && s.namespaces > 1 && s.objects > maxNamedWatches && !w.forbidden[everywhere]:
		return everywhere
	case w.counts[kindNamespaceOf(id)] > maxNamedWatches:
		return there
	}
	return watchKey{resource: kind.Resource, namespace: id.Namespace, name: id.Name}
}
