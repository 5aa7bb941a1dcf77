package apply_test

import (
	"context"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/object"
)

// controlled is keeping with generations, which rise with the spec, and with
// controllers, which write a status some time after a spec has changed. Without
// one an object keeps the status that it has.
type controlled struct {
	keeping
	// writes are the statuses that the controller of a kind writes, by the time
	// after the change.
	writes map[string]map[time.Duration]map[string]any
	// refuse answers a PATCH with an error.
	refuse func(*unstructured.Unstructured) error
	// patched is called when an object was applied.
	patched func(name string)
	// unlistable and unreadable answer a LIST and a GET with an error.
	unlistable, unreadable func(kind string) error

	counts  sync.Mutex
	lists   map[string]int
	gets    map[string]int
	patches map[string]int
	deleted []string
}

func newControlled() *controlled {
	return &controlled{
		keeping: keeping{kept: map[object.ID]*unstructured.Unstructured{}},
		writes:  map[string]map[time.Duration]map[string]any{},
		lists:   map[string]int{}, gets: map[string]int{}, patches: map[string]int{},
	}
}

// reset forgets what was counted.
func (c *controlled) reset() {
	c.lists, c.gets, c.patches, c.deleted = map[string]int{}, map[string]int{}, map[string]int{}, nil
}

func (c *controlled) add(counts map[string]int, key string) {
	c.counts.Lock()
	defer c.counts.Unlock()
	counts[key]++
}

func (c *controlled) Kind(gvk schema.GroupVersionKind) (apply.Kind, bool) {
	kind, ok := c.keeping.Kind(gvk)
	kind.Namespaced = gvk.Kind != "Namespace" && gvk.Kind != "CustomResourceDefinition"
	kind.HasStatus = isCustom(gvk.Group)
	return kind, ok
}

func isCustom(group string) bool { return group != "" && group != "apiextensions.k8s.io" }

func (c *controlled) Apply(ctx context.Context, kind apply.Kind, obj *unstructured.Unstructured, o apply.PatchOptions) (*unstructured.Unstructured, error) {
	c.add(c.patches, obj.GetName())
	if c.refuse != nil {
		if err := c.refuse(obj); err != nil {
			return nil, err
		}
	}
	id := apply.Meta(obj).ID
	before := c.live(id)
	if _, err := c.keeping.Apply(ctx, kind, obj, o); err != nil {
		return nil, err
	}
	c.change(id, func(live *unstructured.Unstructured) {
		live.SetCreationTimestamp(metav1.Now())
		if id.Kind == "CustomResourceDefinition" {
			live.Object["status"] = map[string]any{"conditions": []any{condition("Established", "True"), condition("NamesAccepted", "True")}}
		}
		if isCustom(id.Group) {
			delete(live.Object, "status")
		}
		if before != nil {
			live.SetUID(before.GetUID())
			live.SetDeletionTimestamp(before.GetDeletionTimestamp()) // a PATCH does not bring it back
			live.SetCreationTimestamp(before.GetCreationTimestamp())
			live.SetGeneration(before.GetGeneration())
			live.Object["status"] = before.Object["status"]
		}
	})
	if before == nil || !reflect.DeepEqual(before.Object["spec"], obj.Object["spec"]) {
		c.change(id, func(live *unstructured.Unstructured) {
			if before != nil {
				live.SetGeneration(before.GetGeneration() + 1)
			}
		})
		for after, status := range c.writes[id.Kind] {
			time.AfterFunc(after, func() { c.write(id, status) })
		}
	}
	if c.patched != nil {
		c.patched(obj.GetName())
	}
	live := c.live(id)
	if live == nil {
		live = obj
	}
	return live, nil
}

func condition(kind, status string) map[string]any {
	return map[string]any{"type": kind, "status": status}
}

// live is a copy of an object that is kept; nil when it is not.
func (c *controlled) live(id object.ID) *unstructured.Unstructured {
	c.mu.Lock()
	defer c.mu.Unlock()
	if live := c.kept[id]; live != nil {
		return live.DeepCopy()
	}
	return nil
}

// change changes an object as it is kept, without an event.
func (c *controlled) change(id object.ID, how func(*unstructured.Unstructured)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if live := c.kept[id]; live != nil {
		how(live)
	}
}

// write writes a status as a controller does.
func (c *controlled) write(id object.ID, status map[string]any) {
	c.change(id, func(live *unstructured.Unstructured) { live.Object["status"] = status })
	if live := c.live(id); live != nil {
		c.tell(live)
	}
}

func (c *controlled) List(ctx context.Context, kind apply.Kind, namespace string, q apply.Query) ([]*unstructured.Unstructured, error) {
	c.add(c.lists, kind.Resource.Resource)
	if c.unlistable != nil {
		if err := c.unlistable(kind.Resource.Resource); err != nil {
			return nil, err
		}
	}
	if !kind.Namespaced {
		namespace = ""
	}
	return c.keeping.List(ctx, kind, namespace, q)
}

func (c *controlled) Get(_ context.Context, kind apply.Kind, namespace, name string) (*unstructured.Unstructured, error) {
	c.add(c.gets, name)
	if c.unreadable != nil {
		if err := c.unreadable(kind.Resource.Resource); err != nil {
			return nil, err
		}
	}
	id := object.ID{Group: kind.Resource.Group, Kind: kind.Resource.Resource, Namespace: namespace, Name: name}
	if live := c.live(id); live != nil {
		return live, nil
	}
	return nil, apierrors.NewNotFound(unstructuredResource(kind.Resource.Resource), name)
}

func (c *controlled) Delete(_ context.Context, _ apply.Kind, live *unstructured.Unstructured, _ apply.DeleteOptions) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.kept, apply.Meta(live).ID)
	c.deleted = append(c.deleted, live.GetName())
	return nil
}

// deletions are the names of the objects that were deleted.
func (c *controlled) deletions() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.deleted)
}

func forbidden(string) error {
	return apierrors.NewForbidden(unstructuredResource("pods"), "", nil)
}

// namespaced is the Namespace of all objects in these tests: a stream that makes it
// asks nothing about it.
func shopNamespace() map[string]any {
	return map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": "shop"}}
}

// imaged is a manifest with another spec.
func imaged(m map[string]any, image string) map[string]any {
	m["spec"].(map[string]any)["image"] = image
	return m
}

// mustRun applies manifests to the cluster and expects success.
func (c *controlled) mustRun(t *testing.T, a apply.Applier, manifests ...map[string]any) apply.Summary {
	t.Helper()
	summary, err := c.run(t, a, manifests...)
	require.NoError(t, err)
	return summary
}

func (c *controlled) run(t *testing.T, a apply.Applier, manifests ...map[string]any) (apply.Summary, error) {
	t.Helper()
	plan, stream := planOf(t, manifests...)
	a.Cluster = c
	c.reset()
	return a.Run(t.Context(), plan, stream.Objects)
}
