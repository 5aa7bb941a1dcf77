package planner

import (
	"errors"
	"fmt"

	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// An atomic stack that fails is rolled back as a whole. Resources outside the
// stack must not use it before then, so they have to wait for the whole stack.

// unsafeStacks returns an error for each resource outside an atomic stack that
// may use the stack before it is ready.
func unsafeStacks(p *ordering.Plan, stacks []ordering.Stack) error {
	var errs []error
	for _, stack := range stacks {
		if stack.Atomic {
			errs = append(errs, earlyUses(p, stack.Name)...)
		}
	}
	return errors.Join(errs...)
}

func earlyUses(p *ordering.Plan, stack string) []error {
	in := p.InStack(stack)
	w := stackWaiters{plan: p, stack: "stack " + stack, layers: map[int]bool{}, steps: map[object.ID]bool{}, positions: p.Positions()}
	var errs []error
	for _, s := range p.Steps {
		if in[s.ID] {
			continue
		}
		for _, need := range s.Needs {
			if in[need.ID] && !w.step(s.ID) {
				errs = append(errs, fmt.Errorf("stack %s cannot be atomic: %s is outside the stack, uses %s (%s), and may be applied before the whole stack is ready: select it in the stack, or make its application or stack depend on stack %s",
					stack, s.ID, need.ID, need.Why.Located(), stack))
				break
			}
		}
	}
	return errs
}

// stackWaiters computes which steps and layers wait for a stack. It caches results.
type stackWaiters struct {
	plan      *ordering.Plan
	stack     string // the layer's name
	layers    map[int]bool
	steps     map[object.ID]bool
	positions ordering.Positions
}

// step reports whether a resource waits for the whole stack.
func (w stackWaiters) step(id object.ID) bool {
	if known, ok := w.steps[id]; ok {
		return known
	}
	w.steps[id] = false
	s := w.plan.Steps[w.positions[id]]
	for _, b := range s.After {
		w.steps[id] = w.steps[id] || w.layer(b.Layer)
	}
	for _, need := range s.Needs {
		w.steps[id] = w.steps[id] || w.step(need.ID)
	}
	return w.steps[id]
}

// layer reports whether a layer is the stack or can only be ready after it.
func (w stackWaiters) layer(l int) bool {
	if known, ok := w.layers[l]; ok {
		return known
	}
	w.layers[l] = w.plan.Layers[l].Name == w.stack
	for at := l; at >= 0 && !w.layers[l]; at = w.plan.Layers[at].Within {
		for _, b := range w.plan.Layers[at].After {
			w.layers[l] = w.layers[l] || w.layer(b.Layer)
		}
	}
	return w.layers[l]
}
