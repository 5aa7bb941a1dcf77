package apply_test

import (
	"context"
	"testing"
	"testing/synctest"
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

// keeping is a cluster that stores applied objects as ready, with
// managedFields.
type keeping struct {
	memcluster.Scripted
	sent int
	// going is set when the Namespace is terminating, with all its contents.
	going bool
}

func (c *keeping) Kind(gvk schema.GroupVersionKind) (kube.Kind, bool) {
	kind, ok := c.Scripted.Kind(gvk)
	kind.HasStatus = false
	return kind, ok
}

func (c *keeping) Apply(_ context.Context, _ kube.Kind, obj *unstructured.Unstructured, o kube.PatchOptions) (*unstructured.Unstructured, error) {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	c.sent++
	live := memcluster.LiveObject(obj, true)
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
		clear(c.Objects)
		setDeleted(live, time.Now())
		return live, nil
	}
	c.Put(live)
	return live.DeepCopy(), nil
}

// Objects in a terminating Namespace existed when the run read them, and are
// deleted with it: all of them are sent.
func TestWhatGoesWithItsNamespaceIsSentAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := &keeping{}
		namespace := map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": "shop"}}
		plan, stream := planOf(t, namespace, testPod("a", 0, "s"), testSecret("s"))
		_, err := apply.Applier{Cluster: cluster}.Run(t.Context(), plan, stream.Objects)
		require.NoError(t, err)
		setDeleted(cluster.Live(object.ID{Kind: "Namespace", Name: "shop"}), time.Now())
		cluster.going, cluster.sent = true, 0
		summary, err := apply.Applier{Cluster: cluster}.Run(t.Context(), plan, stream.Objects)
		require.NoError(t, err)
		require.Zero(t, summary.Unchanged())
		require.Len(t, cluster.Objects, 3)
		require.Equal(t, 4, cluster.sent, "the Namespace twice")
	})
}

// A LIST that does not answer is bounded by the run's timeout.
func TestSurveyKeepsToTheRunsTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		plan, stream := planOf(t, testPod("a", 0, ""))
		summary, err := apply.Applier{Cluster: &silent{}, Timeout: 5 * time.Second}.Run(t.Context(), plan, stream.Objects)
		require.Error(t, err)
		require.LessOrEqual(t, summary.Took, 15*time.Second, "the timeout, and the grace of what is in flight")
	})
}

// silent is a cluster that answers nothing.
type silent struct{ memcluster.Scripted }

func (c *silent) List(ctx context.Context, _ kube.Kind, _ string, _ kube.Query) ([]*unstructured.Unstructured, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func (c *silent) Apply(ctx context.Context, _ kube.Kind, _ *unstructured.Unstructured, _ kube.PatchOptions) (*unstructured.Unstructured, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// Unchanged objects are not sent, and a run that sends nothing waits for no
// timer: every wave closes at once. The stream contains its own Namespace, so
// that the read of another does not wake the run.
func TestRunOverWhatIsUnchangedTakesNoTime(t *testing.T) {
	for _, schedule := range []apply.Schedule{apply.Waves, apply.Graph} {
		synctest.Test(t, func(t *testing.T) {
			cluster := &keeping{}
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

			// An object that another client has written is sent.
			theirs := cluster.Live(pod("b"))
			unstructured.RemoveNestedField(theirs.Object, "metadata", "managedFields")
			require.Equal(t, 4, again().Unchanged())
			require.Equal(t, 1, cluster.sent)

			// So is one that kubectl's client-side apply still owns: its
			// fields are migrated.
			metadata := cluster.Live(pod("a")).Object["metadata"].(map[string]any)
			metadata["managedFields"] = append(metadata["managedFields"].([]any), map[string]any{"manager": "kubectl-client-side-apply", "operation": "Update"})
			require.Equal(t, 4, again().Unchanged())
			require.Equal(t, 1, cluster.sent)
		})
	}
}

// mutes is keeping with kinds whose objects never get a status.
type mutes struct{ keeping }

func (c *mutes) Kind(gvk schema.GroupVersionKind) (kube.Kind, bool) {
	kind, ok := c.keeping.Kind(gvk)
	kind.HasStatus = true
	return kind, ok
}

func (c *mutes) Apply(ctx context.Context, kind kube.Kind, obj *unstructured.Unstructured, o kube.PatchOptions) (*unstructured.Unstructured, error) {
	id := apply.Meta(obj).ID
	made := metav1.Now()
	if before := c.Live(id); before != nil {
		made = before.GetCreationTimestamp()
	}
	if _, err := c.keeping.Apply(ctx, kind, obj, o); err != nil {
		return nil, err
	}
	delete(c.Live(id).Object, "status")
	c.Live(id).SetCreationTimestamp(made)
	return c.Live(id).DeepCopy(), nil
}

// An object that never gets a status had its grace when it was created: later
// runs do not wait for it, unless they create a workload that may be its
// controller.
func TestGraceIsNotWaitedForAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := &mutes{}
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
		cluster.Live(object.ID{Group: "rockets.example", Kind: "Rocket", Namespace: "shop", Name: "rocket"}).SetCreationTimestamp(metav1.NewTime(time.Now().Add(-5 * time.Second)))
		require.Equal(t, 10*time.Second, took("blue", 0), "it is young still")
	})
}
