package memcluster

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
)

// watch is one open watch.
type watch struct {
	resource, namespace, name string // "" for any
	labels                    string
	changes                   chan kube.WatchEvent
}

func newWatch(kind kube.Kind, namespace string, query kube.Query) watch {
	name := strings.TrimPrefix(query.Fields, "metadata.name=")
	return watch{kind.Resource.GroupResource().String(), namespace, name, query.Labels, make(chan kube.WatchEvent, 1000)}
}

func (w watch) covers(id object.ID) bool {
	return strings.HasPrefix(KeyOf(id), w.resource+"/") && (w.namespace == "" || w.namespace == id.Namespace) && (w.name == "" || w.name == id.Name)
}

// watches are the open watches of a cluster. Its Mu guards them.
type watches []watch

// send sends a change of one object to the watches that cover it.
func (all watches) send(change kube.WatchEvent) {
	obj := change.Objects[0]
	for _, w := range all {
		if w.covers(kube.Meta(obj).ID) { // receivers may change the object
			change.Objects = []*unstructured.Unstructured{obj.DeepCopy()}
			w.changes <- change
		}
	}
}

// Tell sends a change of an object to the watches that cover it.
func (c *Scripted) Tell(live *unstructured.Unstructured) {
	c.Send(kube.WatchEvent{Objects: []*unstructured.Unstructured{live}})
}

// Send sends a change of one object to the watches that cover it.
func (c *Scripted) Send(change kube.WatchEvent) {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	c.watches.send(change)
}

// Report sends a change of the connection to all watches.
func (c *Scripted) Report(change kube.WatchEvent) {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	for _, w := range c.watches {
		w.changes <- change
	}
}

// Opened returns the watches that were started, as "namespace/name labels", sorted.
func (c *Scripted) Opened() []string {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	var out []string
	for _, w := range c.watches {
		out = append(out, fmt.Sprintf("%s/%s %s", w.namespace, w.name, w.labels))
	}
	slices.Sort(out)
	return out
}

// ForgetLabelled removes the watches by label.
func (c *Scripted) ForgetLabelled() {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	c.watches = slices.DeleteFunc(c.watches, func(w watch) bool { return w.labels != "" })
}

// Watch implements kube.Cluster. It reports objects from Tell, Send and Report; Refuse can
// forbid it.
func (c *Scripted) Watch(ctx context.Context, kind kube.Kind, namespace string, query kube.Query, changed func(kube.WatchEvent)) {
	w := newWatch(kind, namespace, query)
	first, ok := c.open(w)
	if c.Refuse != nil {
		if err := c.Refuse("watch", kind, namespace, w.name); err != nil {
			changed(kube.WatchEvent{Forbidden: err})
			return
		}
	}
	if ok {
		changed(first)
	}
	for {
		select {
		case change := <-w.changes:
			changed(change)
		case <-ctx.Done():
			return
		}
	}
}

// open adds a watch, and returns the list that it begins with; false when it has none.
func (c *Scripted) open(w watch) (kube.WatchEvent, bool) {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	c.watches = append(c.watches, w)
	list, listed := kube.WatchEvent{Listed: true}, c.Lists
	for id, obj := range c.Outside {
		if w.covers(id) {
			listed = true
			if obj != nil {
				list.Objects = append(list.Objects, obj.DeepCopy())
			}
		}
	}
	for _, obj := range c.Objects {
		if c.Lists && w.covers(kube.Meta(obj).ID) {
			list.Objects = append(list.Objects, obj.DeepCopy())
		}
	}
	return list, listed
}
