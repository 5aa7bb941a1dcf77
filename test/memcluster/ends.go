package memcluster

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
)

// End is how an object reacts to its DELETE.
type End struct {
	Latency   time.Duration // of each DELETE
	GoneAfter time.Duration // after the DELETE; 0: at once
	Never     bool          // its finalizer is never removed
	Errs      []error       // answers to the first DELETEs
	Changes   int           // how often another client changes it just before a DELETE arrives
	Replaced  bool          // another client replaces it just before the DELETE arrives
	Protected bool          // another client protects it just before the DELETE arrives
	Joins     []object.ID   // another client creates these, and changes it, just before the first DELETE arrives
}

// Holding returns a cluster that stores objects, which watches list.
func Holding(ids ...object.ID) *Scripted {
	c := &Scripted{Lists: true, Ends: map[object.ID]End{}}
	for _, id := range ids {
		c.Make(id)
	}
	return c
}

// Make stores a new object. The caller holds Mu, if a run may be reading.
func (c *Scripted) Make(id object.ID) {
	obj := &unstructured.Unstructured{}
	obj.SetGroupVersionKind(schema.GroupVersionKind{Group: id.Group, Version: "v1", Kind: id.Kind})
	obj.SetNamespace(id.Namespace)
	obj.SetName(id.Name)
	c.put(kindOf(id), obj)
}

// Change changes an object, without an event. The caller holds Mu, if a run may be reading.
func (c *Scripted) Change(id object.ID, how func(*unstructured.Unstructured)) {
	obj := c.Live(id).DeepCopy()
	how(obj)
	c.put(kindOf(id), obj)
}

// Found returns the objects of a list before the run.
func (c *Scripted) Found() map[object.ID]*unstructured.Unstructured {
	out := map[object.ID]*unstructured.Unstructured{}
	for _, obj := range c.Objects {
		out[kube.Meta(obj).ID] = obj.DeepCopy()
	}
	return out
}

// Delete implements kube.Cluster with the end of the object.
func (c *Scripted) Delete(ctx context.Context, kind kube.Kind, read *unstructured.Unstructured, o kube.DeleteOptions) error {
	id := kube.Meta(read).ID
	e := c.Ends[id]
	c.record(id, "sent")
	select {
	case <-time.After(e.Latency):
	case <-ctx.Done():
		return ctx.Err()
	}
	c.Mu.Lock()
	defer c.Mu.Unlock()
	if c.Deletes == nil {
		c.Deletes = map[object.ID]int{}
	}
	n := c.Deletes[id]
	c.Deletes[id]++
	if o.Foreground {
		c.Foreground = append(c.Foreground, id)
		e.Never = e.Never || c.Uncollected
	}
	if n < len(e.Errs) {
		return e.Errs[n]
	}
	c.interfere(id, e, n)
	if err := deletable(kind, read, c.Live(id), o); err != nil {
		return err
	}
	c.log = append(c.log, Entry{id, "answered"})
	c.terminate(id, e)
	return nil
}

// interfere acts as another client just before the n-th DELETE.
func (c *Scripted) interfere(id object.ID, e End, n int) {
	if n == 0 && len(e.Joins) > 0 {
		for _, other := range e.Joins {
			c.Make(other)
		}
		c.Change(id, func(*unstructured.Unstructured) {})
	}
	switch {
	case n < e.Changes:
		c.Change(id, func(*unstructured.Unstructured) {})
	case e.Replaced && n == e.Changes:
		delete(c.Objects, KeyOf(id))
		c.Make(id)
	case e.Protected && n == e.Changes:
		c.Change(id, func(obj *unstructured.Unstructured) {
			obj.SetAnnotations(map[string]string{"ordapply.dev/lifecycle": "keep"})
		})
	}
}

// terminate removes an object, now or later. The caller holds Mu.
func (c *Scripted) terminate(id object.ID, e End) {
	if e.GoneAfter == 0 && !e.Never {
		c.end(id)
		return
	}
	stamp := metav1.Now()
	c.Change(id, func(obj *unstructured.Unstructured) {
		obj.SetDeletionTimestamp(&stamp)
		obj.SetFinalizers([]string{"example.com/hold"})
	})
	if !e.Never {
		time.AfterFunc(e.GoneAfter, func() {
			c.Mu.Lock()
			defer c.Mu.Unlock()
			c.end(id)
		})
	}
}

// end removes an object and notifies the watches. The caller holds Mu.
func (c *Scripted) end(id object.ID) {
	obj := c.Live(id)
	delete(c.Objects, KeyOf(id))
	c.log = append(c.log, Entry{id, "gone"})
	c.watches.send(kube.WatchEvent{Deleted: true, Objects: []*unstructured.Unstructured{obj}})
}
