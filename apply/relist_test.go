package apply_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/test/memcluster"
)

// slowly makes the first resource of a stream take two minutes, after which
// the cluster changes.
func (c *controlled) slowly(meanwhile func()) {
	c.OnApplied = func(name string) {
		if name == "a" {
			time.Sleep(2 * time.Minute)
			meanwhile()
		}
	}
}

// Once a run has sent something, a wave that opens later does not use reads from
// before the run.
func TestLaterWavesAreJudgedByWhatIsTrueWhenTheyOpen(t *testing.T) {
	other := applyset.Parent{ID: object.ID{Kind: "Secret", Namespace: "shop", Name: "other"}}
	strip := func(live *unstructured.Unstructured) {
		unstructured.RemoveNestedField(live.Object, "metadata", "managedFields")
	}
	for name, c := range map[string]struct {
		meanwhile func(*controlled)
		applier   apply.Applier
		sent      int // PATCHes of b
		lists     int // of Pods
		fails     string
	}{
		"nothing": {func(*controlled) {}, apply.Applier{}, 0, 3, ""},
		"deleted": {func(c *controlled) { c.Remove(pod("b")) }, apply.Applier{}, 1, 3, ""},
		"edited":  {func(c *controlled) { c.Edit(pod("b"), strip) }, apply.Applier{}, 1, 3, ""},
		"broken": {func(c *controlled) {
			c.Edit(pod("b"), func(live *unstructured.Unstructured) { live.Object["status"] = map[string]any{"phase": "Failed"} })
		}, apply.Applier{}, 0, 2, "Pod shop/b"},
		"recreated by another client": {func(c *controlled) {
			c.Edit(pod("b"), func(live *unstructured.Unstructured) { live.SetUID(types.UID("another")); strip(live) })
		}, apply.Applier{}, 1, 3, ""},
		"member of another set now": {func(c *controlled) {
			c.Edit(pod("b"), func(live *unstructured.Unstructured) {
				live.SetLabels(map[string]string{applyset.PartOfLabel: other.SetID()})
			})
		}, apply.Applier{Manager: "ordapply:mine", Membership: applyset.Membership{Set: "applyset-mine-v1"}}, 0, 2, "it is a member of another apply set"},
		"list fails": {func(c *controlled) { c.Refuse = memcluster.Forbids("list"); c.Remove(pod("b")) }, apply.Applier{}, 1, 3, ""},
	} {
		for _, schedule := range []apply.Schedule{apply.Waves, apply.Graph} {
			t.Run(name+", by "+schedule.String(), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					cluster := newControlled()
					stream := func(image string) []map[string]any {
						return []map[string]any{shopNamespace(), imaged(testPod("a", 0, ""), image), testPod("b", 1, ""), testPod("b2", 1, ""), testPod("c", 2, "")}
					}
					a := c.applier
					a.Schedule, a.NoDiagnosis = schedule, true
					cluster.mustRun(t, a, stream("old")...)
					cluster.slowly(func() { c.meanwhile(cluster) })
					summary, err := cluster.run(t, a, stream("new")...)
					require.Equal(t, c.sent, cluster.Patched["b"], "PATCHes of b")
					require.Equal(t, 2, cluster.Patched["a"], "a dry run finds whether a Pod's spec can change")
					if c.fails != "" {
						require.ErrorContains(t, err, c.fails)
						require.Zero(t, cluster.Patched["c"])
						return
					}
					require.NoError(t, err)
					require.Equal(t, 5, summary.Count(event.Ready))
					require.NotNil(t, cluster.Now(pod("b")))
					if schedule == apply.Waves {
						require.Equal(t, c.lists, cluster.Listed["pods"], "one before the run, and one for each later wave")
					}
				})
			})
		}
	}
}

// An object of a later wave that is terminating when the wave opens is
// applied again when it is gone.
func TestLaterObjectsThatAreBeingDeleted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := newControlled()
		stream := func(image string) []map[string]any {
			return []map[string]any{shopNamespace(), imaged(testPod("a", 0, ""), image), testPod("b", 1, "")}
		}
		cluster.mustRun(t, apply.Applier{}, stream("old")...)
		cluster.slowly(func() {
			cluster.Edit(pod("b"), func(live *unstructured.Unstructured) { setDeleted(live, time.Now()) })
			time.AfterFunc(time.Minute, func() {
				live := cluster.Now(pod("b"))
				cluster.Remove(pod("b"))
				cluster.Send(kube.WatchEvent{Deleted: true, Objects: []*unstructured.Unstructured{live}})
			})
		})
		cluster.mustRun(t, apply.Applier{}, stream("new")...)
		require.Equal(t, 2, cluster.Patched["b"])
		require.Nil(t, cluster.Now(pod("b")).GetDeletionTimestamp())
	})
}

// A run that sends nothing reads everything once, with any number of waves.
func TestRunThatSendsNothingReadsOnce(t *testing.T) {
	for _, schedule := range []apply.Schedule{apply.Waves, apply.Graph} {
		synctest.Test(t, func(t *testing.T) {
			cluster := newControlled()
			stream := []map[string]any{shopNamespace(), testPod("a", 0, "s"), testPod("b", 1, ""), testPod("c", 2, ""), testSecret("s"), dependent("d", "c")}
			cluster.mustRun(t, apply.Applier{Schedule: schedule}, stream...)
			cluster.mustRun(t, apply.Applier{Schedule: schedule}, stream...)
			require.Empty(t, cluster.Patched)
			require.Equal(t, map[string]int{"pods": 1, "secrets": 1, "namespaces": 1}, cluster.Listed)
		})
	}
}

// So does the first apply: objects that did not exist are sent in any case.
func TestFirstApplyReadsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := newControlled()
		cluster.mustRun(t, apply.Applier{}, shopNamespace(), testPod("a", 0, ""), testPod("b", 1, ""), testPod("c", 2, ""))
		require.Equal(t, map[string]int{"pods": 1, "namespaces": 1}, cluster.Listed)
	})
}

// A run that sends nothing but has to wait does not use reads from before the
// wait.
func TestWhatWasReadBeforeAWaitIsReadAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := newControlled()
		stream := []map[string]any{shopNamespace(), testPod("a", 0, ""), testPod("b", 1, "")}
		cluster.mustRun(t, apply.Applier{}, stream...)
		cluster.Edit(pod("a"), func(live *unstructured.Unstructured) {
			live.Object["status"] = map[string]any{"phase": "Pending", "conditions": []any{condition("Ready", "False")}}
		})
		time.AfterFunc(time.Minute, func() {
			cluster.Remove(pod("b"))
			cluster.WriteStatus(pod("a"), map[string]any{"phase": "Running", "conditions": []any{condition("Ready", "True")}})
		})
		summary := cluster.mustRun(t, apply.Applier{}, stream...)
		require.Equal(t, time.Minute, summary.Took)
		require.Equal(t, map[string]int{"b": 1}, cluster.Patched)
	})
}
