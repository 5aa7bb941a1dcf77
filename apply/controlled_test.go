package apply_test

import (
	"context"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/internal/test/memcluster"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
)

// controlled is keeping with generations, which increase with the spec, and
// with controllers, which write a status some time after a spec has changed.
// Without a controller an object keeps its status.
type controlled struct {
	keeping
	// writes are the statuses that the controller of a kind writes, by the
	// delay after the change.
	writes map[string]map[time.Duration]map[string]any
	// refuse returns the error of a PATCH.
	refuse func(*unstructured.Unstructured) error
	// patched is called when an object was applied.
	patched func(name string)

	counts  sync.Mutex
	lists   map[string]int
	gets    map[string]int
	patches map[string]int
	deleted []string
}

func newControlled() *controlled {
	return &controlled{
		writes: map[string]map[time.Duration]map[string]any{},
		lists:  map[string]int{}, gets: map[string]int{}, patches: map[string]int{},
	}
}

// reset clears the counts.
func (c *controlled) reset() {
	c.lists, c.gets, c.patches, c.deleted = map[string]int{}, map[string]int{}, map[string]int{}, nil
}

func (c *controlled) add(counts map[string]int, key string) {
	c.counts.Lock()
	defer c.counts.Unlock()
	counts[key]++
}

func (c *controlled) Kind(gvk schema.GroupVersionKind) (kube.Kind, bool) {
	kind, ok := c.keeping.Kind(gvk)
	kind.HasStatus = isCustom(gvk.Group)
	return kind, ok
}

func isCustom(group string) bool { return group != "" && group != "apiextensions.k8s.io" }

func (c *controlled) Apply(ctx context.Context, kind kube.Kind, obj *unstructured.Unstructured, o kube.PatchOptions) (*unstructured.Unstructured, error) {
	c.add(c.patches, obj.GetName())
	if c.refuse != nil {
		if err := c.refuse(obj); err != nil {
			return nil, err
		}
	}
	id := apply.Meta(obj).ID
	before := c.now(id)
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
			live.SetDeletionTimestamp(before.GetDeletionTimestamp()) // a PATCH does not revive it
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
	live := c.now(id)
	if live == nil {
		live = obj
	}
	return live, nil
}

func condition(kind, status string) map[string]any {
	return map[string]any{"type": kind, "status": status}
}

// now returns a copy of an object; nil when it does not exist.
func (c *controlled) now(id object.ID) *unstructured.Unstructured {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	if live := c.Live(id); live != nil {
		return live.DeepCopy()
	}
	return nil
}

// change changes a stored object, without an event.
func (c *controlled) change(id object.ID, how func(*unstructured.Unstructured)) {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	if live := c.Live(id); live != nil {
		how(live)
	}
}

// write writes a status as a controller does.
func (c *controlled) write(id object.ID, status map[string]any) {
	c.change(id, func(live *unstructured.Unstructured) { live.Object["status"] = status })
	if live := c.now(id); live != nil {
		c.Tell(live)
	}
}

func (c *controlled) List(ctx context.Context, kind kube.Kind, namespace string, q kube.Query) ([]*unstructured.Unstructured, error) {
	c.add(c.lists, kind.Resource.Resource)
	if !kind.Namespaced {
		namespace = ""
	}
	return c.keeping.List(ctx, kind, namespace, q)
}

func (c *controlled) Get(ctx context.Context, kind kube.Kind, namespace, name string) (*unstructured.Unstructured, error) {
	c.add(c.gets, name)
	return c.keeping.Get(ctx, kind, namespace, name)
}

func (c *controlled) Delete(_ context.Context, _ kube.Kind, live *unstructured.Unstructured, _ kube.DeleteOptions) error {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	delete(c.Objects, memcluster.KeyOf(apply.Meta(live).ID))
	c.deleted = append(c.deleted, live.GetName())
	return nil
}

// deletions returns the names of the deleted objects.
func (c *controlled) deletions() []string {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	return slices.Clone(c.deleted)
}

// shopNamespace is the Namespace of all objects in these tests: a stream that
// contains it sends no requests about it.
func shopNamespace() map[string]any {
	return map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": "shop"}}
}

// imaged changes the spec of a manifest.
func imaged(m map[string]any, image string) map[string]any {
	m["spec"].(map[string]any)["image"] = image
	return m
}

// mustRun applies manifests to the cluster and requires success.
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
