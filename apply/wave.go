package apply

import (
	"fmt"
	"time"
)

// tally counts how far one wave's resources are.
type tally struct {
	members    []int // that go out in it
	unanswered int   // of these: still to be applied
	unpassed   int   // resources that must pass their gate before the next wave opens
}

// add takes a resource that goes out in the wave.
func (t *tally) add(i int) {
	t.members = append(t.members, i)
	t.unanswered++
}

// shift moves one resource from one state to another.
func (t *tally) shift(from, to State) {
	if unanswered(from) {
		t.unanswered--
	}
	if unanswered(to) {
		t.unanswered++
	}
}

func unanswered(state State) bool { return state == Pending || state == Applying }

// pass tells the wave by which a step must be ready to wait for it no longer.
func (r *run) pass(i int) {
	if s := &r.steps[i]; !s.passed {
		s.passed = true
		r.waves[s.ReadyBy].unpassed--
	}
}

// openWave starts every resource of a wave that waits for no other of it.
func (r *run) openWave(wave int) {
	if wave == len(r.plan.Waves) {
		r.over = true
		return
	}
	r.wave, r.waveOpen = wave, time.Now()
	members := r.waves[wave].members
	r.requireFreshReads(members)
	r.emit(Event{Wave: wave, State: Applying, Detail: count(len(members), "resource")})
	if limit := r.waveTimeout(wave); limit > 0 {
		r.after(limit, func() { r.waveExpired(wave, limit) })
	}
	for _, i := range members {
		r.release(i)
	}
}

func (r *run) waveTimeout(wave int) time.Duration {
	if t := r.plan.Waves[wave].Timeout; t > 0 {
		return t
	}
	return r.a.WaveTimeout
}

func (r *run) closeWave() {
	r.emit(Event{Wave: r.wave, State: Ready, Detail: time.Since(r.waveOpen).Round(time.Millisecond).String()})
	r.openWave(r.wave + 1)
}

// waveExpired gives up on what holds the wave up, and with it on the run. What
// has a longer time of its own keeps it, and the wave waits as long again.
func (r *run) waveExpired(wave int, limit time.Duration) {
	if wave != r.wave || r.stopping {
		return
	}
	spared := false
	for i := range r.steps {
		switch s := &r.steps[i]; {
		case !r.holdsUp(i):
		case s.patience > 0:
			spared = true
		default:
			r.timeOut(i, limit, r.waveScope(i, limit))
		}
	}
	if spared {
		r.after(limit, func() { r.waveExpired(wave, limit) })
	}
}

// waveScope is whose timeout a wave's was for a step: that of its layer, where
// the layer asked for it.
func (r *run) waveScope(i int, limit time.Duration) string {
	scope := "wave"
	r.timedLayers(i, func(layer int) {
		if r.plan.Layers[layer].Timeout == limit {
			scope = r.layerTitle(layer)
		}
	})
	return scope
}

// holdsUp tells whether the open wave waits for a step: because it is to be
// ready by that wave, or because a resource of an open wave needs it to be.
func (r *run) holdsUp(i int) bool {
	s := &r.steps[i]
	switch {
	case s.state == Applying:
		return true
	case s.state != Waiting:
		return false
	case !s.passed && s.ReadyBy <= r.wave:
		return true
	}
	for _, w := range r.wires[i] {
		if w.to < len(r.steps) && r.steps[w.to].state == Pending && r.steps[w.to].Wave <= r.wave {
			return true
		}
	}
	return false
}

// count is "1 resource", "3 resources".
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
