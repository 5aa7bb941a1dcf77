package apply_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/object"
)

// keeping is a cluster that keeps what is applied, ready, and says in
// managedFields whose it is.
type keeping struct {
	scripted
	mu   sync.Mutex
	kept map[object.ID]*unstructured.Unstructured
	sent int
	// going says that the Namespace is being deleted, with all that is in it.
	going bool
}

func (c *keeping) Kind(gvk schema.GroupVersionKind) (apply.Kind, bool) {
	return apply.Kind{Resource: gvk.GroupVersion().WithResource(gvk.Kind), Namespaced: gvk.Kind != "Namespace"}, true
}

func (c *keeping) Apply(_ context.Context, _ apply.Kind, obj *unstructured.Unstructured, o apply.PatchOptions) (*unstructured.Unstructured, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sent++
	live := liveObject(obj, true)
	owned := map[string]any{}
	for key := range obj.Object {
		if key != "apiVersion" && key != "kind" {
			owned["f:"+key] = map[string]any{}
		}
	}
	live.Object["metadata"].(map[string]any)["managedFields"] = []any{map[string]any{
		"manager": o.Manager, "operation": "Apply", "apiVersion": obj.GetAPIVersion(),
		"fieldsV1": owned,
	}}
	if c.going && obj.GetKind() == "Namespace" {
		c.going = false
		clear(c.kept)
		setDeleted(live, time.Now())
		return live, nil
	}
	c.kept[apply.Meta(obj).ID] = live
	return live.DeepCopy(), nil
}

func (c *keeping) List(_ context.Context, kind apply.Kind, namespace string, _ apply.Query) ([]*unstructured.Unstructured, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []*unstructured.Unstructured
	for id, obj := range c.kept {
		if id.Kind == kind.Resource.Resource && id.Namespace == namespace {
			out = append(out, obj.DeepCopy())
		}
	}
	return out, nil
}

// What was in a Namespace that is going was there when the run looked, and is
// gone with it: all of it is sent.
func TestWhatGoesWithItsNamespaceIsSentAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := &keeping{kept: map[object.ID]*unstructured.Unstructured{}}
		namespace := map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": "shop"}}
		plan, stream := planOf(t, namespace, testPod("a", 0, "s"), testSecret("s"))
		_, err := apply.Applier{Cluster: cluster}.Run(t.Context(), plan, stream.Objects)
		require.NoError(t, err)
		setDeleted(cluster.kept[object.ID{Kind: "Namespace", Name: "shop"}], time.Now())
		cluster.going, cluster.sent = true, 0
		summary, err := apply.Applier{Cluster: cluster}.Run(t.Context(), plan, stream.Objects)
		require.NoError(t, err)
		require.Zero(t, summary.Unchanged())
		require.Len(t, cluster.kept, 3)
		require.Equal(t, 4, cluster.sent, "the Namespace twice")
	})
}

// A LIST that does not answer holds up no longer than the run may take.
func TestSurveyKeepsToTheRunsTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		plan, stream := planOf(t, testPod("a", 0, ""))
		summary, err := apply.Applier{Cluster: &silent{}, Timeout: 5 * time.Second}.Run(t.Context(), plan, stream.Objects)
		require.Error(t, err)
		require.LessOrEqual(t, summary.Took, 15*time.Second, "the timeout, and the grace of what is in flight")
	})
}

// silent is a cluster that answers nothing.
type silent struct{ scripted }

func (c *silent) List(ctx context.Context, _ apply.Kind, _ string, _ apply.Query) ([]*unstructured.Unstructured, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func (c *silent) Apply(ctx context.Context, _ apply.Kind, _ *unstructured.Unstructured, _ apply.PatchOptions) (*unstructured.Unstructured, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// What is as it was applied last is not sent again, and a run of which nothing
// has to be sent waits for no timer: every wave closes at once. The stream makes
// its own Namespace, so that no answer about that wakes the run.
func TestRunOverWhatIsUnchangedTakesNoTime(t *testing.T) {
	for _, schedule := range []apply.Schedule{apply.Waves, apply.Graph} {
		synctest.Test(t, func(t *testing.T) {
			cluster := &keeping{kept: map[object.ID]*unstructured.Unstructured{}}
			namespace := map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": "shop"}}
			plan, stream := planOf(t, namespace, testPod("a", 0, "s"), testPod("b", 1, ""), testPod("c", 2, ""), testSecret("s"))
			again := func() apply.Summary {
				cluster.sent = 0
				summary, err := apply.Applier{Cluster: cluster, Schedule: schedule, WaveTimeout: time.Minute}.Run(t.Context(), plan, stream.Objects)
				require.NoError(t, err)
				require.Equal(t, 5, summary.Count(apply.Ready))
				require.Zero(t, summary.Took)
				return summary
			}
			require.Zero(t, again().Unchanged())
			require.Equal(t, 5, cluster.sent)
			require.Equal(t, 5, again().Unchanged())
			require.Zero(t, cluster.sent)

			// What somebody else has written is sent.
			theirs := cluster.kept[pod("b")]
			unstructured.RemoveNestedField(theirs.Object, "metadata", "managedFields")
			require.Equal(t, 4, again().Unchanged())
			require.Equal(t, 1, cluster.sent)

			// So is what kubectl's client-side apply still owns too: it is taken over.
			metadata := cluster.kept[pod("a")].Object["metadata"].(map[string]any)
			metadata["managedFields"] = append(metadata["managedFields"].([]any), map[string]any{"manager": "kubectl-client-side-apply", "operation": "Update"})
			require.Equal(t, 4, again().Unchanged())
			require.Equal(t, 1, cluster.sent)
		})
	}
}

// mutes is keeping with kinds whose objects never get a status.
type mutes struct{ keeping }

func (c *mutes) Kind(gvk schema.GroupVersionKind) (apply.Kind, bool) {
	kind, ok := c.keeping.Kind(gvk)
	kind.HasStatus = true
	return kind, ok
}

func (c *mutes) Apply(ctx context.Context, kind apply.Kind, obj *unstructured.Unstructured, o apply.PatchOptions) (*unstructured.Unstructured, error) {
	id := apply.Meta(obj).ID
	made := metav1.Now()
	if before := c.kept[id]; before != nil {
		made = before.GetCreationTimestamp()
	}
	if _, err := c.keeping.Apply(ctx, kind, obj, o); err != nil {
		return nil, err
	}
	delete(c.kept[id].Object, "status")
	c.kept[id].SetCreationTimestamp(made)
	return c.kept[id].DeepCopy(), nil
}

// What never gets a status had its time when it was made: no run waits for it
// again that makes no workload, which may be its controller.
func TestGraceIsNotWaitedForAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := &mutes{keeping{kept: map[object.ID]*unstructured.Unstructured{}}}
		took := func(colour string, wait time.Duration) time.Duration {
			time.Sleep(wait)
			first := map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "a", "namespace": "shop"}, "spec": map[string]any{"colour": colour}}
			plan, stream := planOf(t, first, annotated(rocket(), "ordapply.dev/depends-on", "/namespaces/shop/ConfigMap/a"))
			summary, err := apply.Applier{Cluster: cluster}.Run(t.Context(), plan, stream.Objects)
			require.NoError(t, err)
			return summary.Took
		}
		require.Equal(t, 15*time.Second, took("red", 0))
		require.Zero(t, took("red", 0))
		require.Zero(t, took("blue", time.Hour))
		cluster.kept[object.ID{Group: "rockets.example", Kind: "Rocket", Namespace: "shop", Name: "rocket"}].SetCreationTimestamp(metav1.NewTime(time.Now().Add(-5 * time.Second)))
		require.Equal(t, 10*time.Second, took("blue", 0), "it is young still")
	})
}
