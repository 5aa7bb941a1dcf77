package apply_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/test/memcluster"
)

// Objects in a terminating Namespace existed when the run read them, and are
// deleted with it: all of them are sent.
func TestObjectsDeletedWithTheirNamespaceAreSentAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := memcluster.NewControlled()
		namespace := map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": "shop"}}
		plan, stream := planOf(t, namespace, testPod("a", 0, "s"), testSecret("s"))
		_, err := apply.Applier{Cluster: cluster}.Run(t.Context(), plan, stream.Objects)
		require.NoError(t, err)
		setDeleted(cluster.Live(object.ID{Kind: "Namespace", Name: "shop"}), time.Now())
		cluster.ResetRequests()
		terminating := true
		cluster.OnApplied = func(string) {
			cluster.Mu.Lock()
			defer cluster.Mu.Unlock()
			if terminating {
				terminating = false
				clear(cluster.Objects)
			}
		}
		summary, err := apply.Applier{Cluster: cluster}.Run(t.Context(), plan, stream.Objects)
		require.NoError(t, err)
		require.Zero(t, summary.Unchanged())
		require.Len(t, cluster.Objects, 3)
		require.Equal(t, map[string]int{"shop": 2, "a": 1, "s": 1}, cluster.Patched)
	})
}

// The Namespace of an object is read with the objects, and again if hooks have changed the cluster
// since: nothing is applied to one that is terminating.
func TestTheNamespaceIsReadWithTheObjects(t *testing.T) {
	for name, c := range map[string]struct {
		before, after bool // the Namespace begins to terminate before Prepare, or after it
		hooks         bool
		gone          bool // the terminating Namespace is gone, and exists again, after Prepare
		applied       int
	}{
		"living":                        {applied: 1},
		"terminating":                   {before: true},
		"created again":                 {before: true, gone: true, applied: 1},
		"terminating by the hooks":      {after: true, hooks: true},
		"read once unless hooks change": {after: true, applied: 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cluster := memcluster.NewControlled()
				namespace := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": "shop"}}}
				cluster.Add(kube.NamespaceKind(), namespace)
				terminate := func(now bool) {
					if now {
						setDeleted(cluster.Live(object.ID{Kind: "Namespace", Name: "shop"}), time.Now())
					}
				}
				plan, stream := planOf(t, testPod("a", 0, ""))
				terminate(c.before)
				prepared, _, err := apply.Applier{Cluster: cluster}.Prepare(t.Context(), plan, stream.Objects)
				require.NoError(t, err)
				if c.gone {
					cluster.Add(kube.NamespaceKind(), namespace)
				}
				terminate(c.after)
				if c.hooks {
					prepared.Reread()
				}
				_, err = prepared.Run(t.Context(), apply.Hooks{})
				require.Equal(t, c.applied == 0, err != nil, "%v", err)
				require.Equal(t, c.applied, cluster.Patched["a"])
			})
		})
	}
}

// A LIST that does not answer is bounded by the run's timeout.
func TestSnapshotKeepsToTheRunTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := &memcluster.Scripted{Store: memcluster.Store{Faults: memcluster.Faults{Hangs: func(string) bool { return true }}}}
		plan, stream := planOf(t, testPod("a", 0, ""))
		summary, err := apply.Applier{Cluster: cluster, Timeout: 5 * time.Second}.Run(t.Context(), plan, stream.Objects)
		require.Error(t, err)
		require.LessOrEqual(t, summary.Took, 15*time.Second, "the timeout, and the grace of what is in flight")
	})
}

// Unchanged objects are not sent, and a run that sends nothing waits for no
// timer: every wave closes at once. The stream contains its own Namespace, so
// that the read of another does not wake the run.
func TestRunOfUnchangedObjectsTakesNoTime(t *testing.T) {
	for _, schedule := range []apply.Schedule{apply.Waves, apply.Graph} {
		synctest.Test(t, func(t *testing.T) {
			cluster := memcluster.NewControlled()
			namespace := map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": "shop"}}
			plan, stream := planOf(t, namespace, testPod("a", 0, "s"), testPod("b", 1, ""), testPod("c", 2, ""), testSecret("s"))
			again := func() event.Summary {
				cluster.ResetRequests()
				summary, err := apply.Applier{Cluster: cluster, Schedule: schedule, WaveTimeout: time.Minute}.Run(t.Context(), plan, stream.Objects)
				require.NoError(t, err)
				require.Equal(t, 5, summary.Count(event.Ready))
				require.Zero(t, summary.Took)
				return summary
			}
			require.Zero(t, again().Unchanged())
			require.Len(t, cluster.Patched, 5)
			require.Equal(t, 5, again().Unchanged())
			require.Empty(t, cluster.Patched)

			// An object that another client has written is sent.
			theirs := cluster.Live(pod("b"))
			unstructured.RemoveNestedField(theirs.Object, "metadata", "managedFields")
			require.Equal(t, 4, again().Unchanged())
			require.Equal(t, map[string]int{"b": 1}, cluster.Patched)

			// So is one that kubectl's client-side apply still owns: its
			// fields are migrated, after a dry run that finds conflicts.
			metadata := cluster.Live(pod("a")).Object["metadata"].(map[string]any)
			metadata["managedFields"] = append(metadata["managedFields"].([]any), map[string]any{
				"manager": "kubectl-client-side-apply", "operation": "Update", "apiVersion": "v1", "fieldsV1": map[string]any{"f:spec": map[string]any{}},
			})
			require.Equal(t, 4, again().Unchanged())
			require.Equal(t, map[string]int{"a": 2}, cluster.Patched)
		})
	}
}

// An object that never gets a status had its grace when it was created: later
// runs do not wait for it, unless they create a workload that may be its
// controller.
func TestStatusGraceIsNotWaitedForAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := memcluster.NewControlled()
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
