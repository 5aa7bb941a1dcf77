package apply

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/object"
)

// watchKey is what one watch reports: a kind's objects, all of them or those in
// a namespace, all of these or the members of an apply set, or the one with a
// name, or what a Service has of them.
type watchKey struct {
	resource  schema.GroupVersionResource
	namespace string // "" for all
	set       string // the id; "" for members or not
	name      string // "" for any
	service   string // whose EndpointSlices; "" for other objects
	labels    string // of the Pods of one workload; "" for any
	about     string // uid of the object whose events; "" for other objects
	metadata  bool   // is all that must be known of them
}

// query is what a watch asks for.
func (k watchKey) query() Query {
	q := Query{Metadata: k.metadata}
	if k.set != "" {
		q.Labels = applyset.PartOfLabel + "=" + k.set
	}
	if k.service != "" {
		q.Labels = "kubernetes.io/service-name=" + k.service
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

// place is where objects of one kind stand side by side.
type place struct {
	group, kind, namespace string
}

func placeOf(id object.ID) place { return place{id.Group, id.Kind, id.Namespace} }

// watches chooses the watches of a run, the fewest that show nobody else's
// objects: by name where there are one or two of a kind; members of an apply set
// by its label, in all namespaces at once; else whatever is of the kind in the
// namespace. A watch of all namespaces that may not be gives way to one for
// each.
type watches struct {
	set       string            // "" for none
	crowd     map[place]int     // how many objects of the run are of one kind in one namespace
	spread    map[string]spread // by kind
	forbidden map[watchKey]bool // that may not be
}

// spread is how many objects of a kind a run has, and in how many namespaces.
type spread struct{ objects, namespaces int }

func newWatches(set string) watches {
	return watches{set: set, crowd: map[place]int{}, spread: map[string]spread{}, forbidden: map[watchKey]bool{}}
}

// count takes an object of the run into account.
func (w watches) count(id object.ID) {
	s := w.spread[id.GroupKind()]
	s.objects++
	if w.crowd[placeOf(id)]++; w.crowd[placeOf(id)] == 1 {
		s.namespaces++
	}
	w.spread[id.GroupKind()] = s
}

// few is up to how many objects of a kind are watched by their names.
const few = 2

// of is the watch that reports an object. stray is one that does not carry the
// set's label, which leads to members alone.
func (w watches) of(kind Kind, id object.ID, stray bool) watchKey {
	set := w.set
	if stray {
		set = ""
	}
	everywhere := watchKey{resource: kind.Resource, set: set}
	there := watchKey{resource: kind.Resource, set: set, namespace: id.Namespace}
	switch s := w.spread[id.GroupKind()]; {
	case set != "" && s.namespaces > 1 && s.objects > few && !w.forbidden[everywhere]:
		return everywhere
	case w.crowd[placeOf(id)] > few:
		return there
	}
	return watchKey{resource: kind.Resource, namespace: id.Namespace, name: id.Name}
}
