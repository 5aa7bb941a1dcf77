package history

import (
	"errors"
	"fmt"
	"slices"

	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// errNoPlan reports a revision that cannot be applied.
var errNoPlan = errors.New("it has no plan")

// checkPlan rejects a stored plan that does not match its resources: each of
// them must be a step or be skipped, every reference must exist, and this
// version must know every enum value. A rollback with a plan that misses a
// resource would prune it.
func checkPlan(p *ordering.Plan, resources []ordering.Resource) error {
	if err := errors.Join(checkFrame(p.OrderSource), checkLayers(p.Layers)); err != nil {
		return err
	}
	left := map[object.ID]bool{}
	for _, r := range resources {
		if left[r.ID] {
			return fmt.Errorf("it contains %s twice", r.ID)
		}
		left[r.ID] = true
	}
	waves := map[object.ID]int{}
	for _, s := range p.Steps {
		if !left[s.ID] {
			return fmt.Errorf("its plan does not match its resources: the step of %s is a duplicate or has no resource", s.ID)
		}
		delete(left, s.ID)
		waves[s.ID] = s.Wave
	}
	for _, s := range p.Skipped {
		delete(left, s.ID)
	}
	for id := range left {
		return fmt.Errorf("its plan does not match its resources: %s has no step", id)
	}
	for _, hook := range p.Hooks {
		if hook.Wave < 0 || hook.ReadyBy < hook.Wave || hook.ReadyBy >= len(p.Waves) {
			return fmt.Errorf("hook %s: wave %d, done by wave %d: the plan has only %d", hook.ID, hook.Wave+1, hook.ReadyBy+1, len(p.Waves))
		}
	}
	for i, s := range p.Steps {
		if err := checkStep(p, i, waves); err != nil {
			return fmt.Errorf("the step of %s: %w", s.ID, err)
		}
	}
	return nil
}

// checkStep checks the references of one step.
func checkStep(p *ordering.Plan, i int, waves map[object.ID]int) error {
	s := p.Steps[i]
	switch {
	case s.Wave < 0 || s.Wave >= len(p.Waves), s.Due < s.Wave, s.ReadyBy < s.Due, s.ReadyBy >= len(p.Waves):
		return fmt.Errorf("wave %d, ready by wave %d: the plan has only %d", s.Wave+1, s.ReadyBy+1, len(p.Waves))
	case i > 0 && p.Steps[i-1].Wave > s.Wave:
		return errors.New("it follows a step of a later wave")
	}
	for _, n := range s.Needs {
		wave, found := waves[n.ID]
		if !found || wave > s.Wave {
			return fmt.Errorf("it needs %s, which is not applied before it", n.ID)
		}
	}
	for _, id := range s.ProvidedBy {
		if _, found := waves[id]; !found {
			return fmt.Errorf("its kind is provided by %s, which is not in the plan", id)
		}
	}
	for _, layer := range slices.Concat(s.Layers, barriers(s.After)) {
		if layer < 0 || layer >= len(p.Layers) {
			return fmt.Errorf("layer %d: the plan has only %d", layer, len(p.Layers))
		}
	}
	return nil
}

func checkLayers(layers []ordering.Layer) error {
	known := []ordering.LayerKind{
		ordering.Prerequisites, ordering.Stamped, ordering.ArgoWave, ordering.HelmGroup, ordering.HelmChart,
		ordering.StackLayer, ordering.Application, ordering.ChangeGroup, ordering.AllPlaced,
	}
	for _, l := range layers {
		if !slices.Contains(known, l.Kind) {
			return fmt.Errorf("layer %q has unknown kind %q", l.Name, l.Kind)
		}
		if l.Within < -1 || l.Within >= len(layers) {
			return fmt.Errorf("layer %q is within layer %d: the plan has only %d", l.Name, l.Within, len(layers))
		}
		for _, after := range barriers(l.After) {
			if after < 0 || after >= len(layers) {
				return fmt.Errorf("layer %q is after layer %d: the plan has only %d", l.Name, after, len(layers))
			}
		}
	}
	return nil
}

func checkFrame(f ordering.OrderSource) error {
	known := []ordering.OrderSource{ordering.OrderSourceAuto, ordering.OrderSourceStamps, ordering.OrderSourceArgoCD, ordering.OrderSourceHelm, ordering.OrderSourceNone}
	if !slices.Contains(known, f) {
		return fmt.Errorf("unknown frame %q", f)
	}
	return nil
}

func barriers(list []ordering.Barrier) []int {
	return mapSlice(list, func(b ordering.Barrier) int { return b.Layer })
}
