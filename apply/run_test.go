package apply_test

import (
	"context"
	"fmt"
	"slices"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
	"github.com/ordapply/ordapply/ordering/planner"
	"github.com/ordapply/ordapply/test/memcluster"
)

func planOf(t *testing.T, manifests ...map[string]any) (*ordering.Plan, *apply.Stream) {
	t.Helper()
	return planWith(t, ordering.Options{}, manifests...)
}

func planWith(t *testing.T, options ordering.Options, manifests ...map[string]any) (*ordering.Plan, *apply.Stream) {
	t.Helper()
	var inputs []apply.Input
	for _, m := range manifests {
		inputs = append(inputs, apply.Input{Object: &unstructured.Unstructured{Object: m}, Source: "test"})
	}
	stream, err := apply.NewStream(inputs, apply.Scope{Namespace: "shop"})
	require.NoError(t, err)
	plan, err := planner.Build(stream.Resources, options)
	require.NoError(t, err)
	return plan, stream
}

func pod(name string) object.ID    { return object.ID{Kind: "Pod", Namespace: "shop", Name: name} }
func secret(name string) object.ID { return object.ID{Kind: "Secret", Namespace: "shop", Name: name} }

func states(s event.Summary) map[string]event.State {
	out := map[string]event.State{}
	for _, r := range s.Results {
		out[r.ID.Name] = r.State
	}
	return out
}

func TestRunStopsAtAWaveThatDoesNotBecomeReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		plan, stream := planOf(t, testPod("db", 0, ""), testPod("cache", 0, ""), testPod("web", 1, ""))
		cluster := &memcluster.Scripted{Scripts: map[object.ID]memcluster.Script{pod("db"): {Never: true}}}
		start := time.Now()
		summary, err := apply.Applier{Cluster: cluster, WaveTimeout: time.Minute}.Run(t.Context(), plan, stream.Objects)
		requireTimeout(t, err, pod("db"), time.Minute, "wave")
		require.Equal(t, map[string]event.State{"db": event.TimedOut, "cache": event.Ready, "web": event.NotStarted}, states(summary))
		require.True(t, summary.TimedOutOnly())
		require.Equal(t, time.Minute, time.Since(start))
	})
}

func TestRunTimeoutEndsTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		plan, stream := planOf(t, testPod("db", 0, ""), testPod("web", 1, ""))
		cluster := &memcluster.Scripted{Scripts: map[object.ID]memcluster.Script{pod("db"): {Never: true}}}
		summary, err := apply.Applier{Cluster: cluster, Timeout: 10 * time.Second}.Run(t.Context(), plan, stream.Objects)
		requireTimeout(t, err, pod("db"), 10*time.Second, "run")
		requireLeft(t, err, 10*time.Second, pod("web"))
		require.Equal(t, map[string]event.State{"db": event.TimedOut, "web": event.NotStarted}, states(summary))
	})
}

// Requests in flight when the run times out may succeed: resources that were
// never sent are still an error, which is attributed to none of them.
func TestRunTimeoutWhileAPatchIsOut(t *testing.T) {
	for _, schedule := range []apply.Schedule{apply.Waves, apply.Graph} {
		for _, workers := range []int{0, 1} {
			synctest.Test(t, func(t *testing.T) {
				plan, stream := planOf(t, testPod("db", 0, ""), testPod("db2", 0, ""), testPod("web", 1, ""))
				slow := memcluster.Script{Latency: 3 * time.Second}
				cluster := &memcluster.Scripted{Scripts: map[object.ID]memcluster.Script{pod("db"): slow, pod("db2"): slow}}
				var waves []event.State
				tell := func(e event.Event) {
					if e.ID == (object.ID{}) {
						waves = append(waves, e.State)
					}
				}
				summary, err := apply.Applier{Cluster: cluster, Timeout: time.Second, Schedule: schedule, Workers: workers, Events: tell}.Run(t.Context(), plan, stream.Objects)
				left, second := []object.ID{pod("web")}, event.Ready
				if workers == 1 {
					left, second = []object.ID{pod("db2"), pod("web")}, event.NotStarted
				}
				requireLeft(t, err, time.Second, left...)
				require.Equal(t, map[string]event.State{"db": event.Ready, "db2": second, "web": event.NotStarted}, states(summary))
				require.True(t, summary.TimedOutOnly())
				require.NotContains(t, waves, event.Ready, "the wave did not end well")
			})
		}
	}
}

// A PATCH that reached the API server and was not answered does not count as
// "not started", nor does one that was rejected and waits for a retry. One
// that got no connection does.
func TestAnInterruptedRunReportsWhatItSent(t *testing.T) {
	busy := apierrors.NewServiceUnavailable("busy")
	always := []error{busy, busy, busy, busy, busy, busy, busy, busy}
	do := func(t *testing.T, applier apply.Applier, stopAfter time.Duration) (map[string]event.Result, error) {
		plan, stream := planOf(t, testPod("silent", 0, ""), testPod("refused", 0, ""), testPod("late", 0, ""), testPod("unconnected", 0, ""), testPod("web", 1, ""))
		unconnected := slices.Repeat([]error{kube.NotSentError{Err: syscall.ECONNREFUSED}}, 9)
		applier.Cluster = &memcluster.Scripted{Scripts: map[object.ID]memcluster.Script{
			pod("silent"): {Latency: time.Hour}, pod("refused"): {Errs: always}, pod("late"): {Latency: 4 * time.Second, Errs: always},
			pod("unconnected"): {Errs: unconnected},
		}}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(stopAfter, cancel)
		defer cancel()
		summary, err := applier.Run(ctx, plan, stream.Objects)
		results := map[string]event.Result{}
		for _, r := range summary.Results {
			results[r.ID.Name] = r
		}
		require.Equal(t, event.NotStarted, results["web"].State)
		return results, err
	}
	unanswered := "its PATCH was sent, and the API server has not answered it"
	synctest.Test(t, func(t *testing.T) {
		results, err := do(t, apply.Applier{}, 3*time.Second)
		require.ErrorIs(t, err, event.ErrInterrupted)
		for name, why := range map[string]string{"silent": unanswered, "refused": "busy", "late": "busy"} {
			require.Equal(t, event.Unsettled, results[name].State, name)
			require.Contains(t, results[name].Detail, why, name)
		}
		require.Equal(t, event.NotStarted, results["unconnected"].State)
		require.Zero(t, results["unconnected"].Sent)
	})
	synctest.Test(t, func(t *testing.T) {
		results, err := do(t, apply.Applier{Timeout: 3 * time.Second}, time.Hour)
		for name, why := range map[string]string{"silent": unanswered, "refused": "busy", "late": "busy"} {
			require.Equal(t, event.TimedOut, results[name].State, name)
			timeout := requireTimeout(t, err, pod(name), 3*time.Second, "run")
			require.True(t, timeout.NotApplied, name)
			require.Contains(t, timeout.Last, why)
		}
	})
}

// In the second run after a timeout the PATCH changes nothing and causes no
// event, so the response itself must be judged.
func TestRunJudgesTheResponse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		plan, stream := planOf(t, testPod("db", 0, ""))
		_, err := apply.Applier{Cluster: &memcluster.Scripted{}}.Run(t.Context(), plan, stream.Objects)
		require.NoError(t, err)
	})
}

// On a busy machine the event that reports readiness may arrive before the
// answer to the PATCH; it will not come again.
func TestRunBuffersEarlyEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		plan, stream := planOf(t, testPod("first", 0, ""), testPod("rushed", 0, ""), testPod("third", 0, ""))
		cluster := &memcluster.Scripted{Scripts: map[object.ID]memcluster.Script{
			pod("first"):  {ReadyAfter: 10 * time.Second}, // opens the watch
			pod("rushed"): {Latency: 4 * time.Second, Rushed: true, Never: true},
		}}
		_, err := apply.Applier{Cluster: cluster, WaveTimeout: time.Minute}.Run(t.Context(), plan, stream.Objects)
		require.NoError(t, err)
	})
}

// Events of an earlier object, or of this one before the change, open no
// gate.
func TestRunIgnoresStaleEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		plan, stream := planOf(t, testPod("db", 0, ""), testPod("web", 1, ""))
		cluster := &memcluster.Scripted{Scripts: map[object.ID]memcluster.Script{pod("db"): {Never: true, Ghosts: true}}}
		summary, err := apply.Applier{Cluster: cluster, WaveTimeout: time.Minute}.Run(t.Context(), plan, stream.Objects)
		requireTimeout(t, err, pod("db"), time.Minute, "wave")
		require.Equal(t, map[string]event.State{"db": event.TimedOut, "web": event.NotStarted}, states(summary))
	})
}

func TestRunNamesEveryFaultOfAWave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refused := func(name string) error {
			return apierrors.NewForbidden(unstructuredResource("pods"), name, fmt.Errorf("no"))
		}
		plan, stream := planOf(t, testPod("a", 0, ""), testPod("b", 0, "s"), testPod("c", 0, ""), testPod("slow", 0, ""), testSecret("s"), testPod("later", 1, ""))
		cluster := &memcluster.Scripted{Scripts: map[object.ID]memcluster.Script{
			pod("a"):    {Errs: []error{refused("a")}},
			secret("s"): {Errs: []error{refused("s")}},
			pod("c"):    {Errs: []error{refused("c")}},
			pod("slow"): {ReadyAfter: time.Hour},
		}}
		summary, err := apply.Applier{Cluster: cluster}.Run(t.Context(), plan, stream.Objects)
		require.Equal(t, event.CodeForbidden, failureOf(t, err, pod("a")).Code())
		require.Equal(t, event.CodeForbidden, failureOf(t, err, pod("c")).Code())
		require.Equal(t, map[string]event.State{
			"a": event.Failed, "b": event.Skipped, "c": event.Failed, "s": event.Failed,
			"slow": event.Unsettled, "later": event.NotStarted,
		}, states(summary))
		require.False(t, summary.TimedOutOnly())
	})
}

func TestRunRetriesTransientErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		busy := apierrors.NewServiceUnavailable("busy")
		plan, stream := planOf(t, testPod("a", 0, ""))
		cluster := &memcluster.Scripted{Scripts: map[object.ID]memcluster.Script{pod("a"): {Errs: []error{busy, busy, busy}}}}
		_, err := apply.Applier{Cluster: cluster}.Run(t.Context(), plan, stream.Objects)
		require.NoError(t, err)

		var always []error
		for range 1000 {
			always = append(always, busy)
		}
		cluster = &memcluster.Scripted{Scripts: map[object.ID]memcluster.Script{pod("a"): {Errs: always}}}
		start := time.Now()
		_, err = apply.Applier{Cluster: cluster}.Run(t.Context(), plan, stream.Objects)
		require.Equal(t, event.CodeUnavailable, failureOf(t, err, pod("a")).Code())
		require.Less(t, time.Since(start), time.Minute, "repeating is bounded")
	})
}

// At most as many requests are in flight as there are workers, and no fewer
// when there is work for all of them.
func TestRunBoundsRequestsInFlight(t *testing.T) {
	for workers, want := range map[int]int{0: 32, 1: 1, 5: 5, 100: 40} {
		synctest.Test(t, func(t *testing.T) {
			var pods []map[string]any
			cluster := &memcluster.Scripted{Scripts: map[object.ID]memcluster.Script{}}
			for i := range 40 {
				name := fmt.Sprintf("p%d", i)
				pods = append(pods, plainPod(name))
				cluster.Scripts[pod(name)] = memcluster.Script{Latency: time.Second}
			}
			plan, stream := planOf(t, pods...)
			_, err := apply.Applier{Cluster: cluster, Workers: workers}.Run(t.Context(), plan, stream.Objects)
			require.NoError(t, err)
			require.Equal(t, want, cluster.MostPatches)
		})
	}
}

// Retry-After is respected.
func TestRetryAfterIsRespected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		plan, stream := planOf(t, plainPod("a"))
		cluster := &memcluster.Scripted{Scripts: map[object.ID]memcluster.Script{pod("a"): {Errs: []error{apierrors.NewTooManyRequests("slow down", 7), apierrors.NewTooManyRequests("slow down", 9)}}}}
		start := time.Now()
		_, err := apply.Applier{Cluster: cluster}.Run(t.Context(), plan, stream.Objects)
		require.NoError(t, err)
		require.Equal(t, 16*time.Second, time.Since(start))
	})
}

func TestRunInterrupted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		plan, stream := planOf(t, testPod("a", 0, ""), testPod("b", 0, ""), testPod("c", 1, ""))
		cluster := &memcluster.Scripted{Scripts: map[object.ID]memcluster.Script{pod("a"): {Latency: 5 * time.Second}, pod("b"): {ReadyAfter: time.Hour}}}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		start := time.Now()
		summary, err := apply.Applier{Cluster: cluster}.Run(ctx, plan, stream.Objects)
		require.ErrorIs(t, err, event.ErrInterrupted)
		require.Equal(t, map[string]event.State{"a": event.Ready, "b": event.Unsettled, "c": event.NotStarted}, states(summary))
		require.Equal(t, 5*time.Second, time.Since(start), "requests in flight may finish")
	})
}

func TestRunAlwaysEmitsOneFinalState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		plan, stream := planOf(t, testPod("a", 0, "s"), testPod("b", 1, ""), testSecret("s"))
		cluster := &memcluster.Scripted{Scripts: map[object.ID]memcluster.Script{secret("s"): {Errs: []error{apierrors.NewBadRequest("no")}}}}
		finals := map[object.ID]int{}
		applier := apply.Applier{Cluster: cluster, Events: func(e event.Event) {
			if e.State.Final() {
				finals[e.ID]++
			}
		}}
		_, err := applier.Run(t.Context(), plan, stream.Objects)
		require.Error(t, err)
		require.Equal(t, map[object.ID]int{pod("a"): 1, pod("b"): 1, secret("s"): 1}, finals)
	})
}

// In graph mode a resource starts when its own dependencies and layers are
// ready, and resources that do not depend on a failed one proceed.
func TestGraphContinuesAfterAFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		no := apierrors.NewBadRequest("no")
		plan, stream := planOf(t, dependent("b", "a"), dependent("chained", "free"), plainPod("free"), withSecret("a", "s"), testSecret("s"))
		cluster := &memcluster.Scripted{Scripts: map[object.ID]memcluster.Script{
			secret("s"): {Errs: []error{no}},
			pod("free"): {ReadyAfter: time.Minute},
		}}
		skipped := map[object.ID]string{}
		tell := func(e event.Event) {
			if e.State == event.Skipped {
				skipped[e.ID] = e.Detail
			}
		}
		summary, err := apply.Applier{Cluster: cluster, Schedule: apply.Graph, Events: tell}.Run(t.Context(), plan, stream.Objects)
		require.Equal(t, event.OpApply, failureOf(t, err, secret("s")).Op)
		why := "it needs Secret shop/s, which could not be applied"
		require.Equal(t, map[object.ID]string{pod("a"): why, pod("b"): why}, skipped)
		require.Equal(t, map[string]event.State{
			"s": event.Failed, "a": event.Skipped, "b": event.Skipped, "free": event.Ready, "chained": event.Ready,
		}, states(summary))
	})
}

// A slow resource delays only its dependents.
func TestGraphStartsEarly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		plan, stream := planOf(t, plainPod("slow"), plainPod("quick"), dependent("after-quick", "quick"), dependent("after-slow", "slow"))
		cluster := &memcluster.Scripted{Scripts: map[object.ID]memcluster.Script{pod("slow"): {ReadyAfter: time.Minute}, pod("quick"): {ReadyAfter: time.Second}}}
		_, err := apply.Applier{Cluster: cluster, Schedule: apply.Graph}.Run(t.Context(), plan, stream.Objects)
		require.NoError(t, err)
		at := map[memcluster.Entry]int{}
		for i, e := range cluster.Happened() {
			at[e] = i
		}
		require.Less(t, at[memcluster.Entry{ID: pod("after-quick"), What: "ready"}], at[memcluster.Entry{ID: pod("slow"), What: "ready"}])
		require.Greater(t, at[memcluster.Entry{ID: pod("after-slow"), What: "sent"}], at[memcluster.Entry{ID: pod("slow"), What: "ready"}])
	})
}

// Each wave emits an event when it opens and when it is ready; the events of
// its resources are in between.
func TestRunReportsItsWaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		plan, stream := planOf(t, testPod("db", 0, ""), testPod("cache", 0, ""), testPod("web", 1, ""))
		cluster := &memcluster.Scripted{Scripts: map[object.ID]memcluster.Script{pod("db"): {ReadyAfter: 2 * time.Second}}}
		var reported []string
		_, err := apply.Applier{Cluster: cluster, Events: func(e event.Event) {
			if e.ID == (object.ID{}) {
				reported = append(reported, fmt.Sprintf("wave %d %s: %s", e.Wave, e.State, e.Detail))
			} else if e.State.Final() {
				reported = append(reported, fmt.Sprintf("wave %d %s %s", e.Wave, e.ID.Name, e.State))
			}
		}}.Run(t.Context(), plan, stream.Objects)
		require.NoError(t, err)
		require.Equal(t, []string{
			"wave 0 applying: 2 resources", "wave 0 cache ready", "wave 0 db ready", "wave 0 ready: 2s",
			"wave 1 applying: 1 resource", "wave 1 web ready", "wave 1 ready: 0s",
		}, reported)
	})
}
