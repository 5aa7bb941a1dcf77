package apply

import (
	"slices"
	"time"

	"github.com/ordapply/ordapply/internal/gates"
	"github.com/ordapply/ordapply/internal/stream"
	"github.com/ordapply/ordapply/kube"
)

func (r *run) waveTimeout(wave int) time.Duration {
	if t := r.plan.Waves[wave].Timeout; t > 0 {
		return t
	}
	return r.applier.WaveTimeout
}

// onWaveTimeout times out the steps that hold the wave up, which ends the run.
// Steps with a timeout of their own keep it, and the wave's timeout starts
// again.
func (r *run) onWaveTimeout(wave int, limit time.Duration) {
	if wave != r.wave || r.Stopping {
		return
	}
	spared := false
	for i := range r.steps {
		switch s := &r.steps[i]; {
		case !r.holdsUp(i):
		case s.ownTimeout > 0:
			spared = true
		default:
			r.failTimeout(i, limit, r.waveScope(i, limit))
		}
	}
	if spared {
		r.After(limit, func() { r.onWaveTimeout(wave, limit) })
	}
}

// waveScope names the timeout of a wave for a step: that of its layer, where
// the layer set it.
func (r *run) waveScope(i int, limit time.Duration) string {
	scope := "wave"
	for _, layer := range r.clocks.Of(i) {
		if r.clocks.Limit(layer) == limit {
			scope = r.clocks.Title(layer)
		}
	}
	return scope
}

// holdsUp reports whether the open wave waits for a step: because it must be
// ready by that wave, or because a resource of an open wave depends on its
// readiness.
func (r *run) holdsUp(i int) bool {
	s := &r.steps[i]
	switch {
	case s.state == Applying:
		return true
	case s.state != Waiting:
		return false
	case !s.gatePassed && s.ReadyBy <= r.wave:
		return true
	}
	return slices.ContainsFunc(r.order.From(i), func(e gates.Edge) bool {
		return e.To < len(r.steps) && r.steps[e.To].state == Pending && r.steps[e.To].Wave <= r.wave
	})
}

// onLayerTimeout times out the resources of a layer, except those with a
// timeout of their own.
func (r *run) onLayerTimeout(layer int) {
	for i := range r.steps {
		if s := &r.steps[i]; isActive(s.state) && !s.gatePassed && s.ownTimeout == 0 && slices.Contains(r.clocks.Of(i), layer) {
			r.failTimeout(i, r.clocks.Limit(layer), r.clocks.Title(layer))
		}
	}
}

// setTimeouts sets the timeout of a single resource, which starts when its
// dependencies in the stream are met: its own, else that of its kind; else,
// with schedule Graph, the wave timeout where no layer bounds it.
func (r *run) setTimeouts(i int) {
	s := &r.steps[i]
	if d, err := stream.OwnTimeout(s.manifest); err == nil && d > 0 {
		s.ownTimeout = d
		r.setTimeout(i, d, "resource")
		return
	}
	if s.Timeout > 0 {
		s.ownTimeout = s.Timeout
		r.setTimeout(i, s.Timeout, "kind")
		return
	}
	if r.applier.Schedule == Graph {
		if len(r.clocks.Of(i)) == 0 {
			r.setTimeout(i, r.applier.WaveTimeout, "wave")
		}
	}
}

// setCRDTimeout sets the timeout of a CustomResourceDefinition that has
// none of its own (KubeVela KEP-0005). The wait for dependencies outside the
// stream does not count.
func (r *run) setCRDTimeout(i int) {
	if s := &r.steps[i]; s.ownTimeout == 0 && len(kube.DefinedKinds(s.manifest)) > 0 {
		r.setTimeout(i, r.applier.CRDTimeout, "CRD")
	}
}

// setTimeout times out one resource after d; never when d is negative.
func (r *run) setTimeout(i int, d time.Duration, scope string) {
	if d < 0 {
		return
	}
	r.After(d, func() { r.onTimeout(i, d, scope) })
}

// onTimeout times out one resource.
func (r *run) onTimeout(i int, after time.Duration, scope string) {
	if s := &r.steps[i]; s.state == Waiting || s.state == Applying {
		r.failTimeout(i, after, scope)
	}
}
