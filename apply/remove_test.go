package apply_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// inWaves returns a deletion with one wave after the other.
func inWaves(waves ...[]object.ID) *ordering.Deletion {
	d := &ordering.Deletion{Waves: len(waves)}
	for n, wave := range waves {
		for _, id := range wave {
			d.Steps = append(d.Steps, ordering.DeletionStep{ID: id, Wave: n})
		}
	}
	return d
}

func wave(ids ...object.ID) []object.ID { return ids }

// In random orders with random failures: nothing is deleted before its
// predecessors are gone, no object that replaced another is deleted, and
// everything ends in one state. A run that never ends is a deadlock, which
// synctest reports.
func TestEveryRemovalKeepsItsOrder(t *testing.T) {
	ended := map[apply.State]int{}
	for seed := range uint64(600) {
		synctest.Test(t, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 11))
			cluster, order := randomRemoval(rng)
			found := cluster.found()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if rng.IntN(6) == 0 {
				time.AfterFunc(time.Duration(rng.IntN(9000))*time.Millisecond, cancel)
			}
			finals := map[object.ID][]apply.State{}
			summary, err := apply.Remover{Cluster: cluster, Workers: 1 + rng.IntN(8), WaveTimeout: 30 * time.Second, Events: func(e apply.Event) {
				if e.ID != (object.ID{}) && e.State.Final() {
					finals[e.ID] = append(finals[e.ID], e.State)
				}
			}}.Run(ctx, order, found)
			checkOrder(t, cluster, order, found)
			good := true
			for _, r := range summary.Results {
				ended[r.State]++
				require.Equal(t, []apply.State{r.State}, finals[r.ID], "%s", r.ID)
				now := cluster.live[r.ID]
				switch r.State {
				case apply.Deleted:
					require.True(t, now == nil || now.GetUID() != found[r.ID].GetUID(), "%s is still there", r.ID)
				case apply.Kept:
					require.NotNil(t, now, "%s was kept, and is gone", r.ID)
					require.NotEmpty(t, r.Detail)
				case apply.TimedOut:
					require.True(t, cluster.ends[r.ID].never, "%s is gone, and nobody saw it", r.ID)
					good = false
				default:
					good = false
				}
			}
			require.Equal(t, good && !errors.Is(err, apply.ErrInterrupted), err == nil, "%v", err)
		})
		require.False(t, t.Failed(), "seed %d", seed)
	}
	for _, state := range []apply.State{apply.Deleted, apply.Kept, apply.Failed, apply.TimedOut, apply.Skipped, apply.NotStarted, apply.Unsettled} {
		require.NotZero(t, ended[state], "no random removal ends %s", state)
	}
}

// randomRemoval returns a cluster of random objects, and an order for them
// and for some that do not exist.
func randomRemoval(rng *rand.Rand) (*mortal, *ordering.Deletion) {
	cluster, order := newMortal(), &ordering.Deletion{Waves: 1 + rng.IntN(4)}
	if rng.IntN(4) == 0 {
		cluster.unwatchable = func(string) bool { return true }
	}
	trouble := rng.IntN(3) > 0
	for n := range 1 + rng.IntN(20) {
		id := []object.ID{
			{Kind: "Pod", Namespace: "shop"}, {Kind: "ConfigMap", Namespace: "shop"}, {Group: "apps", Kind: "Deployment", Namespace: "shop"},
			{Kind: "Namespace"}, {Group: "example.com", Kind: "Thing", Namespace: "shop"},
		}[rng.IntN(5)]
		id.Name = fmt.Sprint("o", n)
		step := ordering.DeletionStep{ID: id, Wave: rng.IntN(order.Waves)}
		for _, s := range order.Steps {
			switch {
			case rng.IntN(6) > 0:
			case s.Wave < step.Wave:
				step.After = append(step.After, ordering.Need{ID: s.ID, Gate: ordering.Ready})
			case s.Wave == step.Wave:
				step.After = append(step.After, ordering.Need{ID: s.ID, Gate: ordering.Applied})
			}
		}
		order.Steps = append(order.Steps, step)
		if rng.IntN(8) > 0 {
			cluster.create(id)
		}
		cluster.ends[id] = randomEnd(rng, id, trouble)
	}
	return cluster, order
}

func randomEnd(rng *rand.Rand, id object.ID, trouble bool) end {
	e := end{latency: time.Duration(rng.IntN(50)) * time.Millisecond}
	if id.Kind != "ConfigMap" {
		e.goneAfter = time.Duration(rng.IntN(3000)) * time.Millisecond
	}
	if !trouble {
		return e
	}
	switch rng.IntN(14) {
	case 0:
		e.never = id.Kind != "ConfigMap"
	case 1:
		e.errs = []error{apierrors.NewBadRequest("no")}
	case 2:
		e.errs = slices.Repeat([]error{apierrors.NewServiceUnavailable("busy")}, 1+rng.IntN(3))
	case 3:
		e.replaced = true
	case 4:
		e.protected = true
	case 5, 6:
		e.changes = 1 + rng.IntN(2)
	}
	return e
}

// checkOrder checks in the log that a DELETE is sent when everything of
// earlier waves is gone, or was kept.
func checkOrder(t *testing.T, cluster *mortal, order *ordering.Deletion, found map[object.ID]*unstructured.Unstructured) {
	t.Helper()
	at := map[entry]int{}
	for i, e := range cluster.happened() {
		if at[e] == 0 {
			at[e] = i + 1
		}
	}
	for _, s := range order.Steps {
		sent := at[entry{s.ID, "sent"}]
		if sent == 0 {
			continue
		}
		for _, other := range order.Steps {
			if other.Wave >= s.Wave || at[entry{other.ID, "answered"}] == 0 {
				continue
			}
			gone := at[entry{other.ID, "gone"}]
			require.NotZero(t, gone, "%s is deleted while %s is not gone", s.ID, other.ID)
			require.Less(t, gone, sent, "%s is deleted before %s is gone", s.ID, other.ID)
		}
		for _, need := range s.After {
			if answered := at[entry{need.ID, "answered"}]; answered > 0 {
				require.Less(t, answered, sent, "%s is asked for before %s", s.ID, need.ID)
			}
		}
	}
}

func TestRemovalSaysWhatHolds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := newMortal(pod("held"), pod("other"), secret("later"))
		cluster.ends[pod("held")] = end{never: true}
		start := time.Now()
		summary, err := apply.Remover{Cluster: cluster, WaveTimeout: time.Minute}.Run(t.Context(), inWaves(wave(pod("held"), pod("other")), wave(secret("later"))), cluster.found())
		require.EqualError(t, err, "wave 1/2: delete Pod shop/held: not gone after 1m0s (wave timeout): waiting until it is gone (blocked by finalizers example.com/hold)")
		require.Equal(t, map[string]apply.State{"held": apply.TimedOut, "other": apply.Deleted, "later": apply.NotStarted}, states(summary))
		require.True(t, summary.TimedOutOnly())
		require.Equal(t, time.Minute, time.Since(start))
	})
}

func TestRemovalKeepsWhatIsProtected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := newMortal(secret("a"), secret("b"), secret("c"))
		cluster.change(secret("a"), func(obj *unstructured.Unstructured) {
			obj.SetAnnotations(map[string]string{"helm.sh/resource-policy": "keep"})
		})
		cluster.change(secret("b"), func(obj *unstructured.Unstructured) { obj.SetLabels(map[string]string{"of": "another"}) })
		summary, err := apply.Remover{Cluster: cluster, KeepReason: func(obj *unstructured.Unstructured) string {
			if obj.GetLabels()["of"] != "" {
				return "it belongs to another"
			}
			return ""
		}}.Run(t.Context(), inWaves(wave(secret("a"), secret("b")), wave(secret("c"))), cluster.found())
		require.NoError(t, err)
		require.Equal(t, map[string]apply.State{"a": apply.Kept, "b": apply.Kept, "c": apply.Deleted}, states(summary))
		require.Equal(t, "its annotation helm.sh/resource-policy: keep protects it", summary.Results[0].Detail)
		require.Equal(t, "it belongs to another", summary.Results[1].Detail)
		require.Zero(t, cluster.deletes[secret("a")]+cluster.deletes[secret("b")])
	})
}

// An object that replaces another under its name is not deleted.
func TestRemovalSparesAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := newMortal(secret("a"), secret("b"))
		cluster.ends[secret("a")] = end{replaced: true}
		cluster.ends[secret("b")] = end{changes: 3}
		summary, err := apply.Remover{Cluster: cluster}.Run(t.Context(), inWaves(wave(secret("a"), secret("b"))), cluster.found())
		require.NoError(t, err)
		require.Equal(t, map[string]apply.State{"a": apply.Kept, "b": apply.Deleted}, states(summary))
		require.Contains(t, cluster.live, secret("a"))
		require.Equal(t, 4, cluster.deletes[secret("b")], "it is read again each time it has changed")
	})
}

// When a run is interrupted, everything that was started ends in a state, and
// a second run finishes the deletion.
func TestRemovalInterrupted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := newMortal(pod("slow"), pod("held"), secret("later"))
		cluster.ends[pod("slow")] = end{latency: 5 * time.Second}
		cluster.ends[pod("held")] = end{goneAfter: time.Hour}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		order := inWaves(wave(pod("slow"), pod("held")), wave(secret("later")))
		summary, err := apply.Remover{Cluster: cluster}.Run(ctx, order, cluster.found())
		require.ErrorIs(t, err, apply.ErrInterrupted)
		require.Equal(t, map[string]apply.State{"slow": apply.Unsettled, "held": apply.Unsettled, "later": apply.NotStarted}, states(summary))
		summary, err = apply.Remover{Cluster: cluster, WaveTimeout: 2 * time.Hour}.Run(t.Context(), order, cluster.found())
		require.NoError(t, err)
		require.Equal(t, 3, summary.Count(apply.Deleted))
		require.Empty(t, cluster.live)
	})
}

// A DELETE that was rejected, or not answered, when the run was interrupted
// counts as sent; one that got no connection does not.
func TestRemovalInterruptedBetweenTries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := newMortal(secret("busy"), secret("silent"), secret("unconnected"))
		cluster.ends[secret("busy")] = end{errs: slices.Repeat([]error{apierrors.NewServiceUnavailable("busy")}, 99)}
		cluster.ends[secret("silent")] = end{latency: time.Hour}
		cluster.ends[secret("unconnected")] = end{errs: slices.Repeat([]error{kube.NotSentError{Err: syscall.ECONNREFUSED}}, 99)}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(4*time.Second, cancel)
		summary, err := apply.Remover{Cluster: cluster}.Run(ctx, inWaves(wave(secret("busy"), secret("silent"), secret("unconnected"))), cluster.found())
		require.ErrorIs(t, err, apply.ErrInterrupted)
		require.Equal(t, map[string]apply.State{"busy": apply.Unsettled, "silent": apply.Unsettled, "unconnected": apply.NotStarted}, states(summary))
		require.Contains(t, summary.Results[0].Detail, "busy")
		require.Equal(t, "its DELETE was sent, and the API server has not answered it", summary.Results[1].Detail)
	})
}

// When the run times out, deletions that were never requested are an error,
// even if the DELETE in flight succeeds.
func TestRemovalTimeoutWhileADeleteIsOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := newMortal(pod("slow"), secret("later"))
		cluster.ends[pod("slow")] = end{latency: 3 * time.Second}
		summary, err := apply.Remover{Cluster: cluster, Timeout: time.Second}.Run(t.Context(), inWaves(wave(pod("slow")), wave(secret("later"))), cluster.found())
		require.ErrorContains(t, err, "the run timed out after 1s (run timeout); 1 resource left: Secret shop/later")
		require.Equal(t, apply.NotStarted, states(summary)["later"])
		require.True(t, summary.TimedOutOnly())
	})
}

func TestRemovalWithoutWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := newMortal(pod("held"), secret("later"))
		cluster.ends[pod("held")] = end{never: true}
		summary, err := apply.Remover{Cluster: cluster, NoWait: true}.Run(t.Context(), inWaves(wave(pod("held")), wave(secret("later"))), cluster.found())
		require.NoError(t, err)
		require.Equal(t, 2, summary.Count(apply.Deleted))
		require.Equal(t, "its deletion was accepted and is not waited for", summary.Results[0].Detail)
		require.Empty(t, cluster.watches)
	})
}

// A prune that the run's timeout cut short before its first DELETE leaves nothing
// but "not started": the command still ends with the exit code of a timeout.
func TestSummaryOfRunAndPruneStaysOutOfTime(t *testing.T) {
	applied := apply.Summary{Results: []apply.Result{{State: apply.Ready}}}
	pruned := apply.Summary{Results: []apply.Result{{State: apply.NotStarted}}, OutOfTime: true}
	require.True(t, applied.Append(pruned).TimedOutOnly())
	require.True(t, pruned.Append(applied).TimedOutOnly())
	require.False(t, applied.Append(applied).TimedOutOnly())
}

// An error of what precedes a deletion says nothing about the object, not even that
// something else is gone or was sent late.
func TestWhatPrecedesADeletionFails(t *testing.T) {
	id := object.ID{Kind: "ConfigMap", Namespace: "shop", Name: "a"}
	lost := kube.LateError{Err: kube.ErrFenced}
	for name, c := range map[string]struct {
		before error
		state  apply.State
	}{
		"parent gone":   {apierrors.NewNotFound(schema.GroupResource{Resource: "secrets"}, "shop"), apply.Failed},
		"lock lost":     {kube.ErrFenced, apply.NotStarted},
		"sent and lost": {lost, apply.NotStarted},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cluster := newMortal(id)
				remover := apply.Remover{Cluster: cluster, Before: func(context.Context, object.ID) error { return c.before }}
				summary, err := remover.Run(t.Context(), inWaves(wave(id)), cluster.found())
				require.Error(t, err)
				require.Equal(t, c.state, summary.Results[0].State, summary.Results[0].Detail)
				require.Contains(t, cluster.live, id)
			})
		})
	}
}
