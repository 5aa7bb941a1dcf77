package apply_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
	"github.com/ordapply/ordapply/ordering/planner"
	"github.com/ordapply/ordapply/test/memcluster"
	"github.com/ordapply/ordapply/test/seeds"
)

// On random graphs with random failures, by waves and by graph: nothing is
// sent before its dependencies, nothing twice, everything ends in exactly
// one state, and everything that can proceed does. A run that never ends is a
// deadlock, which synctest reports.
func TestEveryRunKeepsItsPlan(t *testing.T) {
	runs := 0
	for seed := range seeds.UpTo(400) {
		for _, schedule := range []apply.Schedule{apply.Waves, apply.Graph} {
			synctest.Test(t, func(t *testing.T) {
				rng := rand.New(rand.NewPCG(seed, 7))
				w := randomWorld(rng)
				if w == nil {
					return
				}
				runs++
				w.run(t, rng, schedule)
				w.check(t, schedule)
			})
			require.False(t, t.Failed(), "seed %d, schedule %d", seed, schedule)
		}
	}
	require.Greater(t, runs, int(seeds.UpTo(400)), "most random graphs have a plan")
}

// world is one random stream, its cluster, and the outcome.
type world struct {
	plan        *ordering.Plan
	objects     map[object.ID]*unstructured.Unstructured
	cluster     *memcluster.Scripted
	interrupted bool

	at     map[memcluster.Entry]int // when something first happened, from 1
	sends  map[object.ID]int
	finals map[object.ID][]event.State
	states map[object.ID]event.State
	err    error
}

// randomWorld returns nil when the random declarations contradict each other.
func randomWorld(rng *rand.Rand) *world {
	w := &world{cluster: &memcluster.Scripted{Scripts: map[object.ID]memcluster.Script{}}, finals: map[object.ID][]event.State{}, states: map[object.ID]event.State{}}
	layered, trouble := rng.IntN(3) > 0, rng.IntN(3) > 0
	gates := []string{"ready", "applied", "ready", "applied", "ready"}
	rng.Shuffle(len(gates), func(i, j int) { gates[i], gates[j] = gates[j], gates[i] })
	var inputs []apply.Input
	add := func(m map[string]any) {
		obj := &unstructured.Unstructured{Object: m}
		inputs = append(inputs, apply.Input{Object: obj, Source: "test"})
		id := object.ID{Kind: obj.GetKind(), Namespace: "shop", Name: obj.GetName()}
		w.cluster.Scripts[id] = randomScript(rng, obj.GetKind() == "Pod", trouble)
	}
	layerOf := func(i int) int { return i * 5 / 26 } // ascending, so that edges to earlier Pods fit the layers
	for i := range 1 + rng.IntN(25) {
		p := plainPod(fmt.Sprintf("p%d", i))
		if layered && rng.IntN(5) > 0 {
			p = testPod(fmt.Sprintf("p%d", i), layerOf(i), fmt.Sprintf("s%d", rng.IntN(4)))
			annotated(p, "ordapply.dev/gate", gates[layerOf(i)])
		}
		if needs := randomNeeds(rng, i); needs != "" {
			annotated(p, "ordapply.dev/depends-on", needs)
		}
		add(p)
	}
	for i := range 4 {
		s := testSecret(fmt.Sprintf("s%d", i))
		if layered && rng.IntN(3) == 0 { // later than some of its dependents
			annotated(s, "ordapply.dev/layer", fmt.Sprintf("app/l%d", i+1))
			annotated(s, "ordapply.dev/wave", fmt.Sprint(i+1))
			annotated(s, "ordapply.dev/gate", gates[i+1])
		}
		add(s)
	}
	stream, err := apply.NewStream(inputs, apply.Scope{Namespace: "shop"})
	if err != nil {
		panic(err)
	}
	w.objects = stream.Objects
	if w.plan, err = planner.Build(stream.Resources, ordering.Options{}); err != nil {
		return nil
	}
	return w
}

// randomNeeds returns dependencies on up to two earlier Pods.
func randomNeeds(rng *rand.Rand, i int) string {
	var needs []string
	for range rng.IntN(3) {
		if i == 0 {
			break
		}
		on := fmt.Sprintf("/namespaces/shop/Pod/p%d", rng.IntN(i))
		if strings.Contains(strings.Join(needs, ",")+"?", on+"?") {
			continue
		}
		needs = append(needs, on+[]string{"", "?gate=applied"}[rng.IntN(2)])
	}
	return strings.Join(needs, ",")
}

// randomScript is quick or slow, and with trouble sometimes rejected,
// rejected for a while, or never ready.
func randomScript(rng *rand.Rand, pod, trouble bool) memcluster.Script {
	s := memcluster.Script{Latency: time.Duration(rng.IntN(50)) * time.Millisecond}
	if pod {
		s.ReadyAfter = time.Duration(rng.IntN(3)) * time.Second
		if s.Never = trouble && rng.IntN(8) == 0; s.Never && rng.IntN(2) == 0 {
			s.FailsAfter = time.Duration(1+rng.IntN(3000)) * time.Millisecond
		}
	}
	if trouble {
		switch rng.IntN(12) {
		case 0:
			s.Errs = []error{apierrors.NewBadRequest("no")}
		case 1:
			s.Errs = slices.Repeat([]error{apierrors.NewServiceUnavailable("busy")}, 1+rng.IntN(3))
		}
	}
	return s
}

// healthy reports whether a script succeeds if its resource is sent.
func healthy(s memcluster.Script) bool {
	return !s.Never && !slices.ContainsFunc(s.Errs, apierrors.IsBadRequest)
}

func (w *world) run(t *testing.T, rng *rand.Rand, schedule apply.Schedule) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if rng.IntN(5) == 0 {
		w.interrupted = true
		time.AfterFunc(time.Duration(rng.IntN(8000))*time.Millisecond, cancel)
	}
	applier := apply.Applier{Cluster: w.cluster, Schedule: schedule, Workers: 1 + rng.IntN(8), WaveTimeout: 30 * time.Second, Events: func(e event.Event) {
		if e.State.Final() && e.ID != (object.ID{}) {
			w.finals[e.ID] = append(w.finals[e.ID], e.State)
		}
	}}
	summary, err := applier.Run(ctx, w.plan, w.objects)
	w.err = err
	for _, r := range summary.Results {
		w.states[r.ID] = r.State
	}
	w.at, w.sends = map[memcluster.Entry]int{}, map[object.ID]int{}
	for i, e := range w.cluster.Happened() {
		if e.What == "sent" {
			w.sends[e.ID]++
		}
		if w.at[e] == 0 {
			w.at[e] = i + 1
		}
	}
}

// passed returns when a resource passed a gate; 0 when it did not.
func (w *world) passed(id object.ID, gate ordering.Gate) int {
	if gate == ordering.Applied {
		return w.at[memcluster.Entry{ID: id, What: "answered"}]
	}
	return w.at[memcluster.Entry{ID: id, What: "ready"}]
}

func (w *world) check(t *testing.T, schedule apply.Schedule) {
	t.Helper()
	opened := 0 // the last wave of which something was sent
	for _, s := range w.plan.Steps {
		state := w.states[s.ID]
		require.Equal(t, []event.State{state}, w.finals[s.ID], "%s ends in exactly one state", s.ID)
		require.True(t, state.Final(), "%s: %s", s.ID, state)
		sc := w.cluster.Scripts[s.ID]
		require.LessOrEqual(t, w.sends[s.ID], 1+len(sc.Errs), "%s was sent again without need", s.ID)
		if w.sends[s.ID] > 0 {
			opened = max(opened, s.Wave)
			w.checkOrder(t, s, schedule)
		}
		if w.sends[s.ID] > 0 && healthy(sc) && !w.interrupted && schedule == apply.Graph {
			require.Contains(t, []event.State{event.Ready, event.Applied}, state, "%s was sent, and nothing is wrong with it", s.ID)
		}
		if w.answered(s) && s.Gate == ordering.Applied && !w.neededReady(s.ID) && !w.interrupted {
			require.Equal(t, event.Applied, state, "no resource waits until %s is ready", s.ID)
		}
		switch state {
		case event.Failed, event.TimedOut:
			require.ErrorContains(t, w.err, s.ID.String()+": ")
			require.False(t, healthy(sc), "%s failed for no reason: %v", s.ID, w.err)
		case event.Ready:
			require.NotZero(t, w.passed(s.ID, ordering.Ready))
		case event.Applied:
			require.NotZero(t, w.passed(s.ID, ordering.Applied))
		}
	}
	if !w.interrupted {
		w.checkNothingLeft(t, schedule, opened)
	}
}

func (w *world) answered(s ordering.Step) bool {
	return w.at[memcluster.Entry{ID: s.ID, What: "answered"}] > 0
}

// neededReady reports whether a resource waits for another one to be ready.
func (w *world) neededReady(id object.ID) bool {
	return slices.ContainsFunc(w.plan.Steps, func(s ordering.Step) bool {
		return slices.ContainsFunc(s.Needs, func(n ordering.Need) bool { return n.ID == id && n.Gate == ordering.Ready })
	})
}

// checkOrder checks that a step was sent after everything that it waits for.
func (w *world) checkOrder(t *testing.T, s ordering.Step, schedule apply.Schedule) {
	t.Helper()
	sent := w.at[memcluster.Entry{ID: s.ID, What: "sent"}]
	for _, on := range w.waitsFor(s, schedule) {
		done := w.passed(on.ID, on.Gate)
		require.NotZero(t, done, "%s was sent though %s was never %s", s.ID, on.ID, on.Gate)
		require.Greater(t, sent, done, "%s was sent before %s was %s", s.ID, on.ID, on.Gate)
	}
}

// waitsFor returns everything that a step waits for: its needs and, by graph,
// the layers before it, or, by waves, the waves before its own.
func (w *world) waitsFor(s ordering.Step, schedule apply.Schedule) []ordering.Need {
	out := slices.Clone(s.Needs)
	for _, other := range w.plan.Steps {
		if schedule == apply.Graph {
			for _, b := range s.After {
				if w.holds(b.Layer, other) {
					out = append(out, ordering.Need{ID: other.ID, Gate: other.Gate})
				}
			}
			continue
		}
		if other.Wave < s.Wave {
			out = append(out, ordering.Need{ID: other.ID, Gate: ordering.Applied})
		}
		if other.ReadyBy < s.Wave {
			out = append(out, ordering.Need{ID: other.ID, Gate: other.Gate})
		}
	}
	return out
}

// holds reports whether the dependents of a layer wait for a step: it is in
// the layer or in one before that.
func (w *world) holds(layer int, s ordering.Step) bool {
	if slices.Contains(s.Layers, layer) {
		return true
	}
	return slices.ContainsFunc(w.plan.Layers[layer].After, func(b ordering.Barrier) bool { return w.holds(b.Layer, s) })
}

// checkNothingLeft checks that every step that could proceed was sent, and
// that the others have the right state.
func (w *world) checkNothingLeft(t *testing.T, schedule apply.Schedule, opened int) {
	t.Helper()
	bad := false
	for _, s := range w.plan.Steps {
		free := !slices.ContainsFunc(w.waitsFor(s, schedule), func(n ordering.Need) bool { return w.passed(n.ID, n.Gate) == 0 })
		switch state := w.states[s.ID]; {
		case schedule == apply.Graph && free, schedule == apply.Waves && free && s.Wave <= opened:
			require.NotZero(t, w.sends[s.ID], "%s had all it needs and was not sent: %s", s.ID, state)
		case schedule == apply.Graph:
			require.Equal(t, event.Skipped, state, "%s", s.ID)
		default:
			require.Contains(t, []event.State{event.Skipped, event.NotStarted}, state, "%s", s.ID)
		}
		bad = bad || !healthy(w.cluster.Scripts[s.ID]) && w.sends[s.ID] > 0 && w.states[s.ID] != event.Applied
	}
	require.Equal(t, bad, w.err != nil, "%v", w.err)
}
