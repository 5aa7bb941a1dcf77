package apply_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/test/memcluster"
)

// A Pod must be applied before the Secret that it needs to become ready: the
// wave of the Secret waits for its readiness, not its own wave, or the run
// would deadlock.
func TestWaitsForReadinessWhereThePlanSays(t *testing.T) {
	early := func() []map[string]any {
		late := annotated(testSecret("s"), "ordapply.dev/layer", "app/l1")
		annotated(late, "ordapply.dev/wave", "1")
		return []map[string]any{
			annotated(testPod("early", 0, "s"), "ordapply.dev/gate", "applied"), late, dependent("last", "early"),
		}
	}
	synctest.Test(t, func(t *testing.T) {
		plan, stream := planOf(t, early()...)
		require.Equal(t, 1, stepOf(plan, pod("early")).ReadyBy)
		require.Less(t, stepOf(plan, pod("early")).Wave, 1)
		cluster := &memcluster.Scripted{Scripts: map[object.ID]memcluster.Script{pod("early"): {ReadyAfter: time.Minute}}}
		summary, err := apply.Applier{Cluster: cluster}.Run(t.Context(), plan, stream.Objects)
		require.NoError(t, err)
		require.Equal(t, 3, summary.Count(event.Ready))
		at := map[memcluster.Entry]int{}
		for i, e := range cluster.Happened() {
			at[e] = i
		}
		require.Less(t, at[memcluster.Entry{ID: secret("s"), What: "sent"}], at[memcluster.Entry{ID: pod("early"), What: "ready"}], "the Secret does not wait for its dependents")
		require.Greater(t, at[memcluster.Entry{ID: pod("last"), What: "sent"}], at[memcluster.Entry{ID: pod("early"), What: "ready"}])
	})
	// If it never becomes ready, the wave that waits for it reports that.
	synctest.Test(t, func(t *testing.T) {
		plan, stream := planOf(t, early()...)
		cluster := &memcluster.Scripted{Scripts: map[object.ID]memcluster.Script{pod("early"): {Never: true}}}
		summary, err := apply.Applier{Cluster: cluster, WaveTimeout: time.Minute}.Run(t.Context(), plan, stream.Objects)
		requireTimeout(t, err, pod("early"), time.Minute, "wave")
		require.Equal(t, map[string]event.State{"early": event.TimedOut, "s": event.Ready, "last": event.Skipped}, states(summary))
	})
}

// A resource whose layer does not wait for it may still be needed by a
// resource of a later wave, which must neither start before it is ready nor
// wait forever.
func TestAPassedGateThatADependentStillNeeds(t *testing.T) {
	manifests := func() []map[string]any {
		return []map[string]any{
			annotated(testPod("db", 0, ""), "ordapply.dev/gate", "applied"),
			annotated(testPod("web", 1, ""), "ordapply.dev/depends-on", "/namespaces/shop/Pod/db"),
		}
	}
	synctest.Test(t, func(t *testing.T) {
		plan, stream := planOf(t, manifests()...)
		cluster := &memcluster.Scripted{Scripts: map[object.ID]memcluster.Script{pod("db"): {ReadyAfter: time.Minute}}}
		start := time.Now()
		_, err := apply.Applier{Cluster: cluster}.Run(t.Context(), plan, stream.Objects)
		require.NoError(t, err)
		require.Equal(t, time.Minute, time.Since(start))
	})
	synctest.Test(t, func(t *testing.T) {
		plan, stream := planOf(t, manifests()...)
		cluster := &memcluster.Scripted{Scripts: map[object.ID]memcluster.Script{pod("db"): {Never: true}}}
		summary, err := apply.Applier{Cluster: cluster, WaveTimeout: time.Minute}.Run(t.Context(), plan, stream.Objects)
		requireTimeout(t, err, pod("db"), time.Minute, "wave")
		require.Equal(t, map[string]event.State{"db": event.TimedOut, "web": event.Skipped}, states(summary))
	})
}

// A Pod of no layer that nothing needs ready does not hold back resources that wait for another
// in its wave, and must still become ready in the end.
func TestNothingWaitsForWhatNothingNeeds(t *testing.T) {
	for never, code := range map[bool]event.State{false: event.Ready, true: event.TimedOut} {
		synctest.Test(t, func(t *testing.T) {
			plan, stream := planOf(t, custom("Certificate", "cert"), plainPod("bystander"), mounting(nil))
			cluster := &memcluster.Scripted{Scripts: map[object.ID]memcluster.Script{
				certificate(): {ReadyAfter: 5 * time.Second}, pod("bystander"): {ReadyAfter: time.Minute, Never: never},
			}}
			start, opened, ended := time.Now(), time.Duration(0), ""
			summary, err := apply.Applier{Cluster: cluster, WaveTimeout: 5 * time.Minute, Events: func(e event.Event) {
				switch {
				case e.ID == object.ID{} && e.Wave == 1 && e.State == event.Applying:
					opened = time.Since(start)
				case e.ID == object.ID{} && e.Wave == 0 && e.State == event.Ready:
					ended = e.Detail
				}
			}}.Run(t.Context(), plan, stream.Objects)
			require.Equal(t, never, err != nil)
			require.Equal(t, 5*time.Second, opened.Round(time.Second))
			require.Contains(t, ended, "5s, except Pod shop/bystander, for which the next wave does not wait")
			require.Equal(t, map[string]event.State{"cert": event.Ready, "bystander": code, "web": event.Ready}, states(summary))
		})
	}
}
