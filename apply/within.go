package apply

import (
	"context"
	"errors"

	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/ordering"
)

// Hooks are the hooks that belong to a run; the zero value is for a run without any.
type Hooks struct {
	// Within runs hooks of the plan with the resources of the wave in which the plan has them.
	// It is called from other goroutines, with a function that emits events, and may run for
	// several waves at once. Its error fails the run. Default: no hook runs within the plan.
	Within func(ctx context.Context, hooks []ordering.PlannedHook, emit func(event.Event)) ([]event.Result, error)
	// Then names the hooks that follow the run and may make its resources ready: "the
	// post-install hooks". When everything is applied and nothing that is waited for moves, the
	// run ends: unready resources are Applied, with Result.Unready. Default: none follow.
	Then string
	// Last is set when nothing follows the run that a resource which turns out to be broken would
	// have to stop: no deletion, no rollback, no other run. The run then ends without the status
	// grace of custom resources on which nothing depends; their Result.Detail says so. It has no
	// effect if hooks follow, or readiness is strict. Default: something may follow.
	Last bool
}

// hooksWithin are the hooks of the plan that run with the resources of a wave.
type hooksWithin struct {
	hooks       Hooks
	hooksOpen   int           // that run now
	hooksLeft   int           // that have not ended
	hooksEnded  chan hooksEnd // has room for all
	hookResults []event.Result
	hookErr     error
}

// hooksEnd is the end of the hooks of a wave. It is not lost where the loop ends before them.
type hooksEnd struct {
	hooks   []ordering.PlannedHook
	results []event.Result
	err     error
}

// within returns the hooks that start with a wave.
func (r *run) within(wave int) []ordering.PlannedHook {
	var out []ordering.PlannedHook
	for _, hook := range r.plan.Hooks {
		if hook.Within && hook.Wave == wave {
			out = append(out, hook)
		}
	}
	return out
}

// addHooks makes waves wait for the hooks before them. With hooks, the run goes wave by wave.
// Hooks end with ctx; the run's requests may outlive it.
func (r *run) addHooks(ctx context.Context, hooks Hooks) {
	r.hooks.Then, r.hooks.Last = hooks.Then, hooks.Last
	if hooks.Within == nil || r.applier.DryRun || r.OnePass {
		return
	}
	r.hooks.Within = func(_ context.Context, list []ordering.PlannedHook, emit func(event.Event)) ([]event.Result, error) {
		return hooks.Within(ctx, list, emit)
	}
	r.hooksEnded = make(chan hooksEnd, len(r.plan.Waves))
	for _, hook := range r.plan.Hooks {
		if hook.Within {
			r.applier.Schedule = Waves
			r.waves[hook.ReadyBy].gatesPending++
			r.hooksLeft++
		}
	}
}

// workers returns how many requests the run makes at once. Hooks of a wave take a worker until
// they end.
func (r *run) workers() int {
	n := min(r.applier.Workers, max(1, len(r.steps)))
	if r.hooks.Within != nil {
		for wave := range r.plan.Waves {
			n += min(1, len(r.within(wave)))
		}
	}
	return n
}

// runHooks starts the hooks of a wave.
func (r *run) runHooks(wave int) {
	list := r.within(wave)
	if r.hooks.Within == nil || len(list) == 0 {
		return
	}
	do, post := r.hooks.Within, r.Poster()
	r.hooksOpen += len(list)
	r.Enqueue(func(ctx context.Context) func() {
		results, err := do(ctx, list, func(e event.Event) {
			post(func() {
				r.moved()
				r.applier.Events(e)
			})
		})
		r.hooksEnded <- hooksEnd{list, results, err}
		return r.collectHooks
	})
}

// collectHooks opens the waves that waited for ended hooks, or fails the run. An interrupt is
// the run's own error.
func (r *run) collectHooks() {
	for {
		select {
		case end := <-r.hooksEnded:
			r.hooksOpen -= len(end.hooks)
			r.hooksLeft -= len(end.hooks)
			r.hookResults = append(r.hookResults, end.results...)
			for _, hook := range end.hooks {
				r.waves[hook.ReadyBy].gatesPending--
			}
			if end.err != nil {
				r.failures++
			}
			if !errors.Is(end.err, event.ErrInterrupted) {
				r.hookErr = errors.Join(r.hookErr, end.err)
			}
			r.moved()
		default:
			return
		}
	}
}
