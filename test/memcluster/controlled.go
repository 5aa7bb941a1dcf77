package memcluster

import (
	"context"
	"encoding/json"
	"reflect"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
)

// Controlled is a Scripted that stores objects as an API server does: with managedFields, a
// creation time, and a generation that increases with the spec. Native objects are ready at
// once. Custom resources have the status subresource, and no status until a controller
// writes one.
type Controlled struct {
	Scripted
	// Statuses are the statuses that the controller of a kind writes, by the delay after
	// the spec of an object has changed. Without a controller an object keeps its status.
	Statuses map[string]map[time.Duration]map[string]any
	// RefusePatch returns the error of a PATCH; nil: none fails.
	RefusePatch func(*unstructured.Unstructured) error
	// OnApplied is called with the name of an object that was applied, before the answer.
	OnApplied func(name string)

	counting sync.Mutex
	Requests
}

// Requests counts the requests of a Controlled.
type Requests struct {
	Listed  map[string]int // LISTs, by resource
	Patched map[string]int // PATCHes, by name
	deleted []string       // names of deleted objects
}

// NewControlled returns an empty cluster.
func NewControlled() *Controlled {
	c := &Controlled{Statuses: map[string]map[time.Duration]map[string]any{}}
	c.ResetRequests()
	return c
}

// ResetRequests forgets the requests so far.
func (c *Controlled) ResetRequests() {
	c.Requests = Requests{Listed: map[string]int{}, Patched: map[string]int{}}
}

func (c *Controlled) countRequest(counts map[string]int, key string) {
	c.counting.Lock()
	defer c.counting.Unlock()
	counts[key]++
}

func isCustom(group string) bool { return group != "" && group != "apiextensions.k8s.io" }

// Kind implements kube.Cluster.
func (c *Controlled) Kind(gvk schema.GroupVersionKind) (kube.Kind, bool) {
	kind, ok := c.Scripted.Kind(gvk)
	kind.HasStatus = isCustom(gvk.Group)
	return kind, ok
}

// Apply implements kube.Cluster.
func (c *Controlled) Apply(_ context.Context, _ kube.Kind, obj *unstructured.Unstructured, o kube.PatchOptions) (*unstructured.Unstructured, error) {
	c.countRequest(c.Patched, obj.GetName())
	if c.RefusePatch != nil {
		if err := c.RefusePatch(obj); err != nil {
			return nil, err
		}
	}
	if o.DryRun {
		return LiveObject(obj, true), nil
	}
	live, changed := c.storeApplied(obj, o.Manager)
	if id := kube.Meta(obj).ID; changed {
		for after, status := range c.Statuses[id.Kind] {
			time.AfterFunc(after, func() { c.WriteStatus(id, status) })
		}
	}
	if c.OnApplied != nil {
		c.OnApplied(obj.GetName())
	}
	return live, nil
}

// storeApplied stores an object as it is after its PATCH, and reports whether its spec has
// changed.
func (c *Controlled) storeApplied(obj *unstructured.Unstructured, manager string) (live *unstructured.Unstructured, changed bool) {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	id := kube.Meta(obj).ID
	before := c.Live(id)
	changed = before == nil || !reflect.DeepEqual(before.Object["spec"], obj.Object["spec"])
	live = LiveObject(obj, true)
	live.Object["metadata"].(map[string]any)["managedFields"] = []any{ownedByManager(obj, manager)}
	live.SetCreationTimestamp(metav1.Now())
	switch {
	case before != nil:
		live.SetUID(before.GetUID())
		live.SetDeletionTimestamp(before.GetDeletionTimestamp()) // a PATCH does not revive it
		live.SetCreationTimestamp(before.GetCreationTimestamp())
		live.SetGeneration(before.GetGeneration())
		if changed {
			live.SetGeneration(before.GetGeneration() + 1)
		}
		live.Object["status"] = before.Object["status"]
	case id.Kind == "CustomResourceDefinition":
		live.Object["status"] = map[string]any{"conditions": []any{Condition("Established", "True"), Condition("NamesAccepted", "True")}}
	case isCustom(id.Group):
		delete(live.Object, "status")
	}
	c.Put(live)
	return live.DeepCopy(), changed
}

// ownedByManager returns the managedFields entry of a manager that owns the fields of an
// applied object.
func ownedByManager(obj *unstructured.Unstructured, manager string) map[string]any {
	var owned map[string]any
	if err := json.Unmarshal([]byte(fieldsOf(obj)), &owned); err != nil {
		panic(err) // fieldsOf makes it
	}
	return map[string]any{"manager": manager, "operation": "Apply", "apiVersion": obj.GetAPIVersion(), "fieldsType": "FieldsV1", "fieldsV1": owned}
}

// Condition returns a condition of a status.
func Condition(kind, status string) map[string]any {
	return map[string]any{"type": kind, "status": status}
}

// Now returns a copy of an object; nil when it does not exist.
func (c *Controlled) Now(id object.ID) *unstructured.Unstructured {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	if live := c.Live(id); live != nil {
		return live.DeepCopy()
	}
	return nil
}

// Edit changes a stored object, without an event.
func (c *Controlled) Edit(id object.ID, how func(*unstructured.Unstructured)) {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	if live := c.Live(id); live != nil {
		how(live)
	}
}

// WriteStatus writes a status as a controller does.
func (c *Controlled) WriteStatus(id object.ID, status map[string]any) {
	c.Edit(id, func(live *unstructured.Unstructured) { live.Object["status"] = status })
	if live := c.Now(id); live != nil {
		c.Tell(live)
	}
}

// Remove removes an object without an event.
func (c *Controlled) Remove(id object.ID) { c.Drop(KeyOf(id)) }

// List implements kube.Cluster.
func (c *Controlled) List(ctx context.Context, kind kube.Kind, namespace string, q kube.Query) ([]*unstructured.Unstructured, error) {
	c.countRequest(c.Listed, kind.Resource.Resource)
	if !kind.Namespaced {
		namespace = ""
	}
	return c.Scripted.List(ctx, kind, namespace, q)
}

// Delete implements kube.Cluster: objects are gone at once.
func (c *Controlled) Delete(_ context.Context, _ kube.Kind, live *unstructured.Unstructured, _ kube.DeleteOptions) error {
	c.Remove(kube.Meta(live).ID)
	c.counting.Lock()
	defer c.counting.Unlock()
	c.deleted = append(c.deleted, live.GetName())
	return nil
}

// Deleted returns the names of the deleted objects.
func (c *Controlled) Deleted() []string {
	c.counting.Lock()
	defer c.counting.Unlock()
	return slices.Clone(c.deleted)
}
