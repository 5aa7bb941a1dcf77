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
	"github.com/ordapply/ordapply/object"
)

// end says how one object takes its deletion.
type end struct {
	latency   time.Duration // of each DELETE
	goneAfter time.Duration // from the DELETE on; 0: at once
	never     bool          // its finalizer stays
	errs      []error       // answers to the first DELETEs
	changes   int           // so often somebody changes it just before a DELETE arrives
	replaced  bool          // somebody makes another of its name just before the DELETE arrives
	protected bool          // somebody protects it just before the DELETE arrives
}

// mortal is a Cluster of objects that are deleted, for what only time and
// chance decide.
type mortal struct {
	scripted
	ends     map[object.ID]end
	versions int
	live     map[object.ID]*unstructured.Unstructured
	deletes  map[object.ID]int
}

func newMortal(ids ...object.ID) *mortal {
	c := &mortal{ends: map[object.ID]end{}, live: map[object.ID]*unstructured.Unstructured{}, deletes: map[object.ID]int{}}
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
	c.live[id] = obj
}

// found is what a list before the run gives.
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

func (c *mortal) Delete(ctx context.Context, _ apply.Kind, read *unstructured.Unstructured, o apply.DeleteOptions) error {
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

// interfere is what somebody else does just before the n-th DELETE.
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

// end removes an object and tells the watches. mu is held.
func (c *mortal) end(id object.ID) {
	obj := c.live[id]
	delete(c.live, id)
	c.log = append(c.log, entry{id, "gone"})
	for _, w := range c.watches {
		if w.covers(id) {
			w.changes <- apply.Change{Deleted: true, Objects: []*unstructured.Unstructured{obj.DeepCopy()}}
		}
	}
}

func (c *mortal) Get(_ context.Context, kind apply.Kind, namespace, name string) (*unstructured.Unstructured, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	obj, ok := c.live[object.ID{Group: kind.Resource.Group, Kind: kind.Resource.Resource, Namespace: namespace, Name: name}]
	if !ok {
		return nil, apierrors.NewNotFound(schema.GroupResource{Resource: kind.Resource.Resource}, name)
	}
	return obj.DeepCopy(), nil
}

// Watch lists first, then tells what is gone.
func (c *mortal) Watch(ctx context.Context, kind apply.Kind, namespace string, query apply.Query, changed func(apply.Change)) {
	w := newWatching(kind, namespace, query)
	c.mu.Lock()
	c.watches = append(c.watches, w)
	if c.unwatchable != nil && c.unwatchable(namespace) {
		c.mu.Unlock()
		changed(apply.Change{Forbidden: apierrors.NewForbidden(schema.GroupResource{}, "", nil)})
		return
	}
	list := apply.Change{Listed: true}
	for id, obj := range c.live {
		if w.covers(id) {
			list.Objects = append(list.Objects, obj.DeepCopy())
		}
	}
	c.mu.Unlock()
	changed(list)
	for {
		select {
		case change := <-w.changes:
			changed(change)
		case <-ctx.Done():
			return
		}
	}
}
