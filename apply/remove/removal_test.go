package remove_test

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

	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/apply/remove"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
	"github.com/ordapply/ordapply/test/memcluster"
	"github.com/ordapply/ordapply/test/seeds"
)

func pod(name string) object.ID    { return object.ID{Kind: "Pod", Namespace: "shop", Name: name} }
func secret(name string) object.ID { return object.ID{Kind: "Secret", Namespace: "shop", Name: name} }

// states returns the state of each resource by its name.
func states(s event.Summary) map[string]event.State {
	out := map[string]event.State{}
	for _, r := range s.Results {
		out[r.ID.Name] = r.State
	}
	return out
}

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
	ended := map[event.State]int{}
	for seed := range seeds.UpTo(600) {
		synctest.Test(t, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 11))
			cluster, order := randomRemoval(rng)
			found := cluster.Found()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if rng.IntN(6) == 0 {
				time.AfterFunc(time.Duration(rng.IntN(9000))*time.Millisecond, cancel)
			}
			finals := map[object.ID][]event.State{}
			summary, err := remove.Remover{Cluster: cluster, Workers: 1 + rng.IntN(8), WaveTimeout: 30 * time.Second, Events: func(e event.Event) {
				if e.ID != (object.ID{}) && e.State.Final() {
					finals[e.ID] = append(finals[e.ID], e.State)
				}
			}}.Run(ctx, order, found)
			checkOrder(t, cluster, order, found)
			good := true
			for _, r := range summary.Results {
				ended[r.State]++
				require.Equal(t, []event.State{r.State}, finals[r.ID], "%s", r.ID)
				now := cluster.Live(r.ID)
				switch r.State {
				case event.Deleted:
					require.True(t, now == nil || now.GetUID() != found[r.ID].GetUID(), "%s is still there", r.ID)
				case event.Kept:
					require.NotNil(t, now, "%s was kept, and is gone", r.ID)
					require.NotEmpty(t, r.Detail)
				case event.TimedOut:
					require.True(t, cluster.Ends[r.ID].Never, "%s is gone, and the run did not see it", r.ID)
					good = false
				default:
					good = false
				}
			}
			require.Equal(t, good && !errors.Is(err, event.ErrInterrupted), err == nil, "%v", err)
		})
		require.False(t, t.Failed(), "seed %d", seed)
	}
	for _, state := range []event.State{event.Deleted, event.Kept, event.Failed, event.TimedOut, event.Skipped, event.NotStarted, event.Unsettled} {
		require.NotZero(t, ended[state], "no random removal ends %s", state)
	}
}

// randomRemoval returns a cluster of random objects, and an order for them
// and for some that do not exist.
func randomRemoval(rng *rand.Rand) (*memcluster.Scripted, *ordering.Deletion) {
	cluster, order := memcluster.Holding(), &ordering.Deletion{Waves: 1 + rng.IntN(4)}
	if rng.IntN(4) == 0 {
		cluster.Refuse = memcluster.ForbidsWatch(func(string) bool { return true })
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
			cluster.Make(id)
		}
		cluster.Ends[id] = randomEnd(rng, id, trouble)
	}
	return cluster, order
}

func randomEnd(rng *rand.Rand, id object.ID, trouble bool) memcluster.End {
	e := memcluster.End{Latency: time.Duration(rng.IntN(50)) * time.Millisecond}
	if id.Kind != "ConfigMap" {
		e.GoneAfter = time.Duration(rng.IntN(3000)) * time.Millisecond
	}
	if !trouble {
		return e
	}
	switch rng.IntN(14) {
	case 0:
		e.Never = id.Kind != "ConfigMap"
	case 1:
		e.Errs = []error{apierrors.NewBadRequest("no")}
	case 2:
		e.Errs = slices.Repeat([]error{apierrors.NewServiceUnavailable("busy")}, 1+rng.IntN(3))
	case 3:
		e.Replaced = true
	case 4:
		e.Protected = true
	case 5, 6:
		e.Changes = 1 + rng.IntN(2)
	}
	return e
}

// checkOrder checks in the log that a DELETE is sent when everything of
// earlier waves is gone, or was kept.
func checkOrder(t *testing.T, cluster *memcluster.Scripted, order *ordering.Deletion, found map[object.ID]*unstructured.Unstructured) {
	t.Helper()
	at := map[memcluster.Entry]int{}
	for i, e := range cluster.Happened() {
		if at[e] == 0 {
			at[e] = i + 1
		}
	}
	for _, s := range order.Steps {
		sent := at[memcluster.Entry{ID: s.ID, What: "sent"}]
		if sent == 0 {
			continue
		}
		for _, other := range order.Steps {
			if other.Wave >= s.Wave || at[memcluster.Entry{ID: other.ID, What: "answered"}] == 0 {
				continue
			}
			gone := at[memcluster.Entry{ID: other.ID, What: "gone"}]
			require.NotZero(t, gone, "%s is deleted while %s is not gone", s.ID, other.ID)
			require.Less(t, gone, sent, "%s is deleted before %s is gone", s.ID, other.ID)
		}
		for _, need := range s.After {
			if answered := at[memcluster.Entry{ID: need.ID, What: "answered"}]; answered > 0 {
				require.Less(t, answered, sent, "%s is asked for before %s", s.ID, need.ID)
			}
		}
	}
}

func TestRemovalReportsFinalizers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := memcluster.Holding(pod("held"), pod("other"), secret("later"))
		cluster.Ends[pod("held")] = memcluster.End{Never: true}
		start := time.Now()
		summary, err := remove.Remover{Cluster: cluster, WaveTimeout: time.Minute}.Run(t.Context(), inWaves(wave(pod("held"), pod("other")), wave(secret("later"))), cluster.Found())
		require.EqualError(t, err, "wave 1/2: delete Pod shop/held: not gone after 1m0s (--wave-timeout): waiting until it is gone (blocked by finalizers example.com/hold)")
		require.Equal(t, map[string]event.State{"held": event.TimedOut, "other": event.Deleted, "later": event.NotStarted}, states(summary))
		require.True(t, summary.TimedOutOnly())
		require.Equal(t, time.Minute, time.Since(start))
	})
}

func TestRemovalKeepsWhatIsProtected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := memcluster.Holding(secret("a"), secret("b"), secret("c"))
		cluster.Change(secret("a"), func(obj *unstructured.Unstructured) {
			obj.SetAnnotations(map[string]string{"helm.sh/resource-policy": "keep"})
		})
		cluster.Change(secret("b"), func(obj *unstructured.Unstructured) { obj.SetLabels(map[string]string{"of": "another"}) })
		summary, err := remove.Remover{Cluster: cluster, KeepReason: func(obj *unstructured.Unstructured) string {
			if obj.GetLabels()["of"] != "" {
				return "it belongs to another"
			}
			return ""
		}}.Run(t.Context(), inWaves(wave(secret("a"), secret("b")), wave(secret("c"))), cluster.Found())
		require.NoError(t, err)
		require.Equal(t, map[string]event.State{"a": event.Kept, "b": event.Kept, "c": event.Deleted}, states(summary))
		require.Equal(t, "its annotation helm.sh/resource-policy: keep protects it", summary.Results[0].Detail)
		require.Equal(t, "it belongs to another", summary.Results[1].Detail)
		require.Zero(t, cluster.Deletes[secret("a")]+cluster.Deletes[secret("b")])
	})
}

// An object that replaces another under its name is not deleted.
func TestRemovalKeepsAnObjectThatTookTheName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := memcluster.Holding(secret("a"), secret("b"))
		cluster.Ends[secret("a")] = memcluster.End{Replaced: true}
		cluster.Ends[secret("b")] = memcluster.End{Changes: 3}
		summary, err := remove.Remover{Cluster: cluster}.Run(t.Context(), inWaves(wave(secret("a"), secret("b"))), cluster.Found())
		require.NoError(t, err)
		require.Equal(t, map[string]event.State{"a": event.Kept, "b": event.Deleted}, states(summary))
		require.NotNil(t, cluster.Live(secret("a")))
		require.Equal(t, 4, cluster.Deletes[secret("b")], "it is read again each time it has changed")
	})
}

// When a run is interrupted, everything that was started ends in a state, and
// a second run finishes the deletion.
func TestRemovalInterrupted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := memcluster.Holding(pod("slow"), pod("held"), secret("later"))
		cluster.Ends[pod("slow")] = memcluster.End{Latency: 5 * time.Second}
		cluster.Ends[pod("held")] = memcluster.End{GoneAfter: time.Hour}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		order := inWaves(wave(pod("slow"), pod("held")), wave(secret("later")))
		summary, err := remove.Remover{Cluster: cluster}.Run(ctx, order, cluster.Found())
		require.ErrorIs(t, err, event.ErrInterrupted)
		require.Equal(t, map[string]event.State{"slow": event.Unsettled, "held": event.Unsettled, "later": event.NotStarted}, states(summary))
		summary, err = remove.Remover{Cluster: cluster, WaveTimeout: 2 * time.Hour}.Run(t.Context(), order, cluster.Found())
		require.NoError(t, err)
		require.Equal(t, 3, summary.Count(event.Deleted))
		require.Empty(t, cluster.Objects)
	})
}

// A DELETE that was rejected, or not answered, when the run was interrupted
// counts as sent; one that got no connection does not.
func TestRemovalInterruptedBetweenTries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := memcluster.Holding(secret("busy"), secret("silent"), secret("unconnected"))
		cluster.Ends[secret("busy")] = memcluster.End{Errs: slices.Repeat([]error{apierrors.NewServiceUnavailable("busy")}, 99)}
		cluster.Ends[secret("silent")] = memcluster.End{Latency: time.Hour}
		cluster.Ends[secret("unconnected")] = memcluster.End{Errs: slices.Repeat([]error{kube.NotSentError{Err: syscall.ECONNREFUSED}}, 99)}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(4*time.Second, cancel)
		summary, err := remove.Remover{Cluster: cluster}.Run(ctx, inWaves(wave(secret("busy"), secret("silent"), secret("unconnected"))), cluster.Found())
		require.ErrorIs(t, err, event.ErrInterrupted)
		require.Equal(t, map[string]event.State{"busy": event.Unsettled, "silent": event.Unsettled, "unconnected": event.NotStarted}, states(summary))
		require.Contains(t, summary.Results[0].Detail, "busy")
		require.Equal(t, "its DELETE was sent, and the API server has not answered it", summary.Results[1].Detail)
	})
}

// When the run times out, deletions that were never requested are an error,
// even if the DELETE in flight succeeds.
func TestRemovalTimeoutWhileADeleteIsOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := memcluster.Holding(pod("slow"), secret("later"))
		cluster.Ends[pod("slow")] = memcluster.End{Latency: 3 * time.Second}
		summary, err := remove.Remover{Cluster: cluster, Timeout: time.Second}.Run(t.Context(), inWaves(wave(pod("slow")), wave(secret("later"))), cluster.Found())
		require.ErrorContains(t, err, "the run timed out after 1s (--timeout); 1 resource left: Secret shop/later")
		require.Equal(t, event.NotStarted, states(summary)["later"])
		require.True(t, summary.TimedOutOnly())
	})
}

func TestRemovalWithoutWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := memcluster.Holding(pod("held"), secret("later"))
		cluster.Ends[pod("held")] = memcluster.End{Never: true}
		summary, err := remove.Remover{Cluster: cluster, NoWait: true}.Run(t.Context(), inWaves(wave(pod("held")), wave(secret("later"))), cluster.Found())
		require.NoError(t, err)
		require.Equal(t, 2, summary.Count(event.Deleted))
		require.Equal(t, "its deletion was accepted and is not waited for", summary.Results[0].Detail)
		require.Empty(t, cluster.Opened())
	})
}

// An error before a deletion says nothing about the object, not even that something else is
// gone or was sent late.
func TestErrorBeforeADeletion(t *testing.T) {
	id := object.ID{Kind: "ConfigMap", Namespace: "shop", Name: "a"}
	lost := kube.LateError{Err: kube.ErrFenced}
	for name, c := range map[string]struct {
		before error
		state  event.State
	}{
		"parent gone":   {apierrors.NewNotFound(schema.GroupResource{Resource: "secrets"}, "shop"), event.Failed},
		"lock lost":     {kube.ErrFenced, event.NotStarted},
		"sent and lost": {lost, event.NotStarted},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cluster := memcluster.Holding(id)
				remover := remove.Remover{Cluster: cluster, Before: func(context.Context, object.ID) error { return c.before }}
				summary, err := remover.Run(t.Context(), inWaves(wave(id)), cluster.Found())
				require.Error(t, err)
				require.Equal(t, c.state, summary.Results[0].State, summary.Results[0].Detail)
				require.NotNil(t, cluster.Live(id))
			})
		})
	}
}
