package apply

import (
	"slices"
	"time"

	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/internal/run/loop"
	"github.com/ordapply/ordapply/internal/run/preflight"
	"github.com/ordapply/ordapply/kube"
)

// onWaveTimeout times out the steps that are due in a wave, however many waves have opened
// since. Steps with a timeout of their own keep it, and the wave's timeout starts again; steps
// of a layer with a timeout have its clock.
func (r *run) onWaveTimeout(wave int) {
	if r.Stopping {
		return
	}
	spared := false
	for i := range r.steps {
		switch s := &r.steps[i]; {
		case !r.isDue(i, wave) || !s.gatePassed && len(r.clocks.Of(i)) > 0:
		case s.ownTimeout > 0:
			spared = true
		default:
			r.failTimeout(i, r.applier.WaveTimeout, "wave")
		}
	}
	if spared {
		r.After(r.applier.WaveTimeout, func() { r.onWaveTimeout(wave) })
	}
}

// isDue reports whether a step should have been applied, or ready, in a wave that is open or
// was: also if only a resource of the open wave waits for it.
func (r *run) isDue(i, wave int) bool {
	s := &r.steps[i]
	switch {
	case s.state == event.Applying, r.isNext(i):
		return s.Wave == wave
	case s.state != event.Waiting:
		return false
	case !s.gatePassed:
		return s.Due == wave
	}
	return wave == r.wave && slices.ContainsFunc(r.order.From(i), func(e loop.Edge) bool {
		return e.To < len(r.steps) && r.steps[e.To].state == event.Pending && r.steps[e.To].Wave <= r.wave
	})
}

// onLayerTimeout times out the resources of a layer that have no timeout of their
// own.
func (r *run) onLayerTimeout(layer int) {
	for i := range r.steps {
		if s := &r.steps[i]; (isActive(s.state) || r.isNext(i)) && !s.gatePassed && s.ownTimeout == 0 && slices.Contains(r.clocks.Of(i), layer) {
			r.failTimeout(i, r.clocks.Limit(layer), r.clocks.Title(layer))
		}
	}
}

// setTimeouts sets the timeout of a single resource, which starts when its
// dependencies in the stream are met: its own, else that of its kind; else,
// with schedule Graph, the wave timeout where no layer bounds it.
func (r *run) setTimeouts(i int) {
	s := &r.steps[i]
	if d, err := preflight.OwnTimeout(s.manifest); err == nil && d > 0 {
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
	if limit := r.applier.CRDTimeout; r.steps[i].ownTimeout == 0 && r.isCRD(i) && limit > 0 {
		r.After(limit, func() { r.onCRDTimeout(i, limit) })
	}
}

// onCRDTimeout times out a CustomResourceDefinition when none of its wave has made progress
// for as long as the limit: an API server establishes one after the other, however many are
// applied at once.
func (r *run) onCRDTimeout(i int, limit time.Duration) {
	if idle := time.Since(r.waves[r.steps[i].Wave].crdProgress); idle < limit {
		r.After(limit-idle, func() { r.onCRDTimeout(i, limit) })
		return
	}
	r.onTimeout(i, limit, "CRD")
}

// recordCRDProgress records that a CustomResourceDefinition was applied, established or
// served. It does nothing for other resources.
func (r *run) recordCRDProgress(i int) {
	if r.isCRD(i) {
		r.waves[r.steps[i].Wave].crdProgress = time.Now()
	}
}

func (r *run) isCRD(i int) bool { return len(kube.DefinedKinds(r.steps[i].manifest)) > 0 }

// setTimeout times out one resource after d; never when d is negative.
func (r *run) setTimeout(i int, d time.Duration, scope string) {
	if d < 0 {
		return
	}
	r.After(d, func() { r.onTimeout(i, d, scope) })
}

// onTimeout times out one resource.
func (r *run) onTimeout(i int, after time.Duration, scope string) {
	if isActive(r.steps[i].state) || r.isNext(i) {
		r.failTimeout(i, after, scope)
	}
}
