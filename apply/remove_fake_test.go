package apply_test

import (
	"context"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
)

// end is how one object reacts to its deletion.
type end struct {
	latency   time.Duration // of each DELETE
	goneAfter time.Duration // after the DELETE; 0: at once
	never     bool          // its finalizer is never removed
	errs      []error       // answers to the first DELETEs
	changes   int           // how often another client changes it just before a DELETE arrives
	replaced  bool          // another client replaces it just before the DELETE arrives
	protected bool          // another client protects it just before the DELETE arrives
}

// mortal is a Cluster of objects that are deleted, for behaviour that depends
// only on time and chance.
type mortal struct {
	scripted
	ends     map[object.ID]end
	versions int
	deletes  map[object.ID]int
}

func newMortal(ids ...object.ID) *mortal {
	c := &mortal{scripted: scripted{lists: true}, ends: map[object.ID]end{}, deletes: map[object.ID]int{}}
	for _, id := range ids {
		c.create(id)
	}
	return c
}

func (c *mortal) create(id object.ID) {
	c.versions++
	obj := &unstructured.Unstructured{}
	obj.SetGroupVersionKind(schema.GroupVersionKind{Group: id.Group, Version: "v1", Kind: id.Kind})
	obj.SetNamespace(id.Namespace)
	obj.SetName(id.Name)
	obj.SetUID(types.UID("uid-" + strconv.Itoa(c.versions)))
	obj.SetResourceVersion(strconv.Itoa(c.versions))
	c.put(id, obj)
}

// found returns what a list before the run contains.
func (c *mortal) found() map[object.ID]*unstructured.Unstructured {
	out := map[object.ID]*unstructured.Unstructured{}
	for id, obj := range c.live {
		out[id] = obj.DeepCopy()
	}
	return out
}

func (c *mortal) change(id object.ID, how func(*unstructured.Unstructured)) {
	c.versions++
	obj := c.live[id].DeepCopy()
	how(obj)
	obj.SetResourceVersion(strconv.Itoa(c.versions))
	c.live[id] = obj
}

func (c *mortal) Delete(ctx context.Context, _ kube.Kind, read *unstructured.Unstructured, o kube.DeleteOptions) error {
	id := apply.Meta(read).ID
	e := c.ends[id]
	c.record(id, "sent")
	select {
	case <-time.After(e.latency):
	case <-ctx.Done():
		return ctx.Err()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.deletes[id]
	c.deletes[id]++
	if n < len(e.errs) {
		return e.errs[n]
	}
	c.interfere(id, e, n)
	now, there := c.live[id]
	switch {
	case !there:
		return apierrors.NewNotFound(schema.GroupResource{}, id.Name)
	case now.GetUID() != read.GetUID(), o.Unchanged && now.GetResourceVersion() != read.GetResourceVersion():
		return apierrors.NewConflict(schema.GroupResource{}, id.Name, nil)
	}
	c.log = append(c.log, entry{id, "answered"})
	if e.goneAfter == 0 && !e.never {
		c.end(id)
		return nil
	}
	stamp := metav1.Now()
	c.change(id, func(obj *unstructured.Unstructured) {
		obj.SetDeletionTimestamp(&stamp)
		obj.SetFinalizers([]string{"example.com/hold"})
	})
	if !e.never {
		time.AfterFunc(e.goneAfter, func() {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.end(id)
		})
	}
	return nil
}

// interfere does what another client does just before the n-th DELETE.
func (c *mortal) interfere(id object.ID, e end, n int) {
	switch {
	case n < e.changes:
		c.change(id, func(*unstructured.Unstructured) {})
	case e.replaced && n == e.changes:
		c.create(id)
	case e.protected && n == e.changes:
		c.change(id, func(obj *unstructured.Unstructured) {
			obj.SetAnnotations(map[string]string{"ordapply.dev/lifecycle": "keep"})
		})
	}
}

// end removes an object and notifies the watches. The caller holds mu.
func (c *mortal) end(id object.ID) {
	obj := c.live[id]
	delete(c.live, id)
	c.log = append(c.log, entry{id, "gone"})
	for _, w := range c.watches {
		if w.covers(id) {
			w.changes <- kube.WatchEvent{Deleted: true, Objects: []*unstructured.Unstructured{obj.DeepCopy()}}
		}
	}
}
