package apply

import (
	"time"

	"github.com/ordapply/ordapply/internal/plain"
)

// waveProgress counts the progress of one wave.
type waveProgress struct {
	members      []int // applied in this wave
	unapplied    int   // number of members still to be applied
	gatesPending int   // number of resources that must pass their gates before the next wave opens
}

// add adds a resource that is applied in the wave.
func (t *waveProgress) add(i int) {
	t.members = append(t.members, i)
	t.unapplied++
}

// shift counts the transition of one resource.
func (t *waveProgress) shift(from, to State) {
	if isUnapplied(from) {
		t.unapplied--
	}
	if isUnapplied(to) {
		t.unapplied++
	}
}

func isUnapplied(state State) bool { return state == Pending || state == Applying }

// pass records that the wave by which a step must be ready waits for it no
// longer.
func (r *run) pass(i int) {
	if s := &r.steps[i]; !s.gatePassed {
		s.gatePassed = true
		r.waves[s.ReadyBy].gatesPending--
	}
}

// openWave starts the resources of a wave that wait for no other one.
func (r *run) openWave(wave int) {
	if wave == len(r.plan.Waves) {
		r.Finished = true
		return
	}
	r.wave, r.waveOpen = wave, time.Now()
	members := r.waves[wave].members
	r.requireFreshReads(members)
	r.emit(Event{Wave: wave, State: Applying, Detail: plain.Count(len(members), "resource")})
	if limit := r.waveTimeout(wave); limit > 0 {
		r.After(limit, func() { r.onWaveTimeout(wave, limit) })
	}
	for _, i := range members {
		r.release(i)
	}
}

func (r *run) waveTimeout(wave int) time.Duration {
	if t := r.plan.Waves[wave].Timeout; t > 0 {
		return t
	}
	return r.applier.WaveTimeout
}

func (r *run) closeWave() {
	r.emit(Event{Wave: r.wave, State: Ready, Detail: time.Since(r.waveOpen).Round(time.Millisecond).String()})
	r.openWave(r.wave + 1)
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
	r.timedLayers(i, func(layer int) {
		if r.plan.Layers[layer].Timeout == limit {
			scope = r.layerTitle(layer)
		}
	})
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
	for _, w := range r.edges[i] {
		if w.to < len(r.steps) && r.steps[w.to].state == Pending && r.steps[w.to].Wave <= r.wave {
			return true
		}
	}
	return false
}
