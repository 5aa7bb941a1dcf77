package ordering_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
	"github.com/ordapply/ordapply/ordering/planner"
	"github.com/ordapply/ordapply/test/plancase"
)

// Properties of the plans of random streams.
func TestProperties(t *testing.T) {
	plans, seeds := 0, uint64(4000)
	if testing.Short() {
		seeds = 400
	}
	for seed := range seeds {
		if checkWorld(t, seed) {
			plans++
		}
	}
	require.Greater(t, plans, int(seeds)/3, "too few of the random streams have a plan")
}

func FuzzBuild(f *testing.F) {
	for seed := range uint64(20) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) { checkWorld(t, seed) })
}

// checkWorld returns false if the stream has no plan.
func checkWorld(t *testing.T, seed uint64) bool {
	w := plancase.NewWorld(seed)
	plan, err := planner.Build(w.Resources, w.Options)
	name := fmt.Sprintf("seed %d", seed)
	shuffled := slices.Clone(w.Resources)
	rand.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
	again, errAgain := planner.Build(shuffled, w.Options)
	require.Equal(t, err, errAgain, name)
	require.Equal(t, plan, again, name)
	if err != nil {
		requireTrue(t, err, name)
		require.Error(t, withoutHooks(w), "%s: only webhooks make it an error: %v", name, err)
		return false
	}
	requireEachOnce(t, w, plan, name)
	requireForward(t, plan, name)
	requirePrerequisitesFirst(t, plan, name)
	requireDeclaredWithoutInferred(t, w, plan, name)
	for _, byWave := range []bool{true, false} {
		runWorld(t, w, plan, byWave, fmt.Sprintf("%s, by wave %t", name, byWave))
	}
	return true
}

// requireTrue checks that each cycle that an error reports is one.
func requireTrue(t *testing.T, err error, name string) {
	var cycle *ordering.CycleError
	if errors.As(err, &cycle) {
		path := cycle.Cycle
		for i, e := range path {
			require.Equal(t, e.To, path[(i+1)%len(path)].From, name)
		}
	}
}

// withoutHooks returns the error of the stream if its webhooks intercept
// nothing.
func withoutHooks(w *plancase.World) error {
	bare := slices.Clone(w.Resources)
	for i, r := range bare {
		hooks, _ := r.Object["webhooks"].([]any)
		for _, hook := range hooks {
			bare[i].Object = maps.Clone(r.Object)
			without := maps.Clone(hook.(map[string]any))
			without["rules"] = nil
			bare[i].Object["webhooks"] = []any{without}
		}
	}
	_, err := planner.Build(bare, w.Options)
	return err
}

func requireEachOnce(t *testing.T, w *plancase.World, plan *ordering.Plan, name string) {
	var want, got []object.ID
	for _, r := range w.Resources {
		want = append(want, r.ID)
	}
	for _, s := range plan.Steps {
		got = append(got, s.ID)
	}
	require.ElementsMatch(t, want, got, name)
}

// requireForward checks that every edge and every layer points to a later wave,
// or, for applied edges, not to an earlier one.
func requireForward(t *testing.T, plan *ordering.Plan, name string) {
	wave := map[object.ID]int{}
	ends := make([]int, len(plan.Layers))
	for l := range ends {
		ends[l] = -1
	}
	for _, s := range plan.Steps {
		wave[s.ID] = s.Wave
		for _, l := range s.Layers {
			for ; l >= 0; l = plan.Layers[l].Within {
				ends[l] = max(ends[l], s.Wave)
				if s.Gate == ordering.Ready {
					ends[l] = max(ends[l], s.ReadyBy)
				}
			}
		}
	}
	for _, s := range plan.Steps {
		for _, n := range s.Needs {
			if n.Gate == ordering.Ready {
				require.Less(t, wave[n.ID], s.Wave, "%s: %s needs %s ready", name, s.ID, n.ID)
			}
			require.LessOrEqual(t, wave[n.ID], s.Wave, "%s: %s needs %s", name, s.ID, n.ID)
		}
		for _, b := range s.After {
			require.Less(t, ends[b.Layer], s.Wave, "%s: %s comes after %s", name, s.ID, plan.Layers[b.Layer].Name)
		}
	}
}

// requirePrerequisitesFirst checks that everything waits for the prerequisites
// that need only each other.
func requirePrerequisitesFirst(t *testing.T, plan *ordering.Plan, name string) {
	first := slices.IndexFunc(plan.Layers, func(l ordering.Layer) bool { return l.Name == "prerequisites" })
	early, alone := map[object.ID]bool{}, true
	for _, s := range plan.Steps {
		for _, l := range s.Layers {
			early[s.ID] = early[s.ID] || plan.Layers[l].Kind == ordering.Prerequisites
		}
	}
	for _, s := range plan.Steps {
		if slices.Contains(s.Layers, first) {
			outside := func(n ordering.Need) bool { return !early[n.ID] }
			alone = alone && !slices.ContainsFunc(s.Needs, outside) && len(s.After) == 0
		}
	}
	for _, s := range plan.Steps {
		if first >= 0 && alone && !early[s.ID] {
			waits := slices.ContainsFunc(s.After, func(b ordering.Barrier) bool { return b.Layer == first })
			require.True(t, waits, "%s: %s does not wait for the prerequisites\n%s", name, s.ID, needs(plan))
		}
	}
}

// requireDeclaredWithoutInferred removes the manifest of one resource after the
// other: the declared edges do not change.
func requireDeclaredWithoutInferred(t *testing.T, w *plancase.World, plan *ordering.Plan, name string) {
	for i, r := range w.Resources {
		if r.Kind != "Deployment" && r.Kind != "ClusterRoleBinding" && r.Kind != "ValidatingWebhookConfiguration" {
			continue
		}
		bare := slices.Clone(w.Resources)
		bare[i].Object = map[string]any{}
		without, err := planner.Build(bare, w.Options)
		require.NoError(t, err, "%s: without the references of %s", name, r.ID)
		require.Equal(t, declared(plan), declared(without), "%s: without the references of %s", name, r.ID)
	}
}

// declared returns the declared edges as text.
func declared(plan *ordering.Plan) map[string]bool {
	out := map[string]bool{}
	for _, s := range plan.Steps {
		for _, n := range s.Needs {
			if n.Hard && n.ID.Kind != "PersistentVolumeClaim" {
				out[fmt.Sprintf("%s needs %s %s", s.ID, n.ID, n.Gate)] = true
			}
		}
	}
	for _, l := range plan.Layers {
		for _, b := range l.After {
			if l.Kind != ordering.AllPlaced {
				out[l.Name+" after "+plan.Layers[b.Layer].Name] = true
			}
		}
	}
	return out
}

// runWorld simulates a plan on the world's cluster: every resource becomes ready,
// and none is applied before its dependencies.
func runWorld(t *testing.T, w *plancase.World, plan *ordering.Plan, byWave bool, name string) {
	c := &cluster{World: w, plan: plan, applied: map[object.ID]bool{}, step: map[object.ID]ordering.Step{}}
	for _, s := range plan.Steps {
		c.step[s.ID] = s
	}
	wave := 0
	for changed := true; changed; {
		changed = false
		for _, s := range plan.Steps {
			if c.applied[s.ID] || byWave && (s.Wave > wave || !c.neighbours(s)) || !byWave && !c.mayStart(s) {
				continue
			}
			c.requireAccepted(t, s, name)
			c.applied[s.ID], changed = true, true
		}
		if byWave && wave < len(plan.Waves)-1 && c.waveDone(wave) {
			wave, changed = wave+1, true
		}
	}
	for _, s := range plan.Steps {
		require.True(t, c.applied[s.ID], "%s: %s never goes out\n%s", name, s.ID, needs(plan))
		require.True(t, c.ready(s.ID), "%s: %s never becomes ready\n%s", name, s.ID, needs(plan))
	}
}

// cluster simulates a cluster.
type cluster struct {
	*plancase.World
	plan    *ordering.Plan
	applied map[object.ID]bool
	step    map[object.ID]ordering.Step
}

func (c *cluster) ready(id object.ID) bool {
	if !c.applied[id] {
		return false
	}
	for _, on := range c.Starts[id] {
		if !c.applied[on] {
			return false
		}
	}
	if users, isClaim := c.Users[id]; isClaim && len(users) > 0 {
		return slices.ContainsFunc(users, func(u object.ID) bool { return c.applied[u] })
	}
	return true
}

func (c *cluster) passed(id object.ID, gate ordering.Gate) bool {
	if gate == ordering.Applied {
		return c.applied[id]
	}
	return c.ready(id)
}

// neighbours reports whether a step's needs in its own wave are applied.
func (c *cluster) neighbours(s ordering.Step) bool {
	return !slices.ContainsFunc(s.Needs, func(n ordering.Need) bool {
		return c.step[n.ID].Wave == s.Wave && !c.applied[n.ID]
	})
}

func (c *cluster) mayStart(s ordering.Step) bool {
	return !slices.ContainsFunc(s.Needs, func(n ordering.Need) bool { return !c.passed(n.ID, n.Gate) }) &&
		!slices.ContainsFunc(s.After, func(b ordering.Barrier) bool { return !c.layerDone(b.Layer) })
}

func (c *cluster) waveDone(wave int) bool {
	return !slices.ContainsFunc(c.plan.Steps, func(s ordering.Step) bool {
		return s.Wave == wave && !c.applied[s.ID] || s.ReadyBy == wave && !c.passed(s.ID, s.Gate)
	})
}

func (c *cluster) layerDone(layer int) bool {
	for _, b := range c.plan.Layers[layer].After {
		if !c.layerDone(b.Layer) {
			return false
		}
	}
	for l, inner := range c.plan.Layers {
		if inner.Within == layer && !c.layerDone(l) {
			return false
		}
	}
	return !slices.ContainsFunc(c.plan.Steps, func(s ordering.Step) bool {
		return slices.Contains(s.Layers, layer) && !c.passed(s.ID, s.Gate)
	})
}

// requireAccepted checks the requirements of the API server and of the plan
// when a resource is applied.
func (c *cluster) requireAccepted(t *testing.T, s ordering.Step, name string) {
	for _, on := range c.Accepts[s.ID] {
		require.True(t, c.applied[on], "%s: %s goes out before %s", name, s.ID, on)
	}
	if crd, ok := c.Served[s.ID]; ok {
		require.True(t, c.ready(crd), "%s: %s goes out before %s is ready", name, s.ID, crd)
	}
	for _, n := range s.Needs {
		require.True(t, c.passed(n.ID, n.Gate), "%s: %s goes out before %s is %s\n%s", name, s.ID, n.ID, n.Gate, needs(c.plan))
	}
}
