package apply

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// removal is the state of one run of a Remover.
type removal struct {
	Remover
	loop
	plan  *ordering.Plan // the deletion as a plan, for its waves' titles
	first int            // its first wave there
	steps []removeStep
	byID  map[object.ID]int
	begin time.Time

	silent int // the step of which was told that the API server is silent; -1: none

	wave     int // the open wave; -1 before the first
	waveOpen time.Time
	waves    []removeWave
	failures int

	watches watches
	watched map[watchKey]*vigil
}

// removeStep is the deletion of one resource.
type removeStep struct {
	ordering.DeletionStep
	live      *unstructured.Unstructured // as last seen; nil when it was not there
	kind      Kind
	state     State
	detail    string
	err       error
	absent    bool     // there was nothing to delete
	asked     bool     // its DELETE is out, or may have got to the API server
	reached   bool     // an attempt at its DELETE may have got to the API server
	accepted  bool     // the API server deletes it
	passed    bool     // nothing waits any longer for its deletion to be asked for
	watch     watchKey // that reports it
	blockers  int      // how many requests must go before its own
	followers []int    // whose requests wait for this one's
	retries   int
	troubled  time.Time // of the first failed attempt
	refusal   error     // why it will be tried again
	sent      time.Time
	answered  time.Time // its deletion was accepted
	done      time.Time
}

// removeWave counts how far the resources of one wave are.
type removeWave struct {
	members   []int
	unasked   int // whose deletion is neither accepted nor given up
	unsettled int // in no final state
}

func newRemoval(m Remover, order *ordering.Deletion, live map[object.ID]*unstructured.Unstructured) *removal {
	r := &removal{
		Remover: m, plan: order.Plan(), first: order.FirstWave(), wave: -1,
		steps: make([]removeStep, len(order.Steps)), byID: make(map[object.ID]int, len(order.Steps)),
		waves:   make([]removeWave, order.Waves),
		watches: newWatches(m.Set), watched: map[watchKey]*vigil{}, silent: -1,
	}
	r.reach.away, r.reach.back = r.tellSilence, r.tellBack
	for i, s := range order.Steps {
		r.steps[i] = removeStep{DeletionStep: s, live: live[s.ID], state: Pending, blockers: 1} // its wave
		r.byID[s.ID] = i
		r.watches.count(s.ID)
		w := &r.waves[s.Wave]
		w.members, w.unasked, w.unsettled = append(w.members, i), w.unasked+1, w.unsettled+1
	}
	for i := range r.steps {
		for _, need := range r.steps[i].After {
			n, ok := r.byID[need.ID]
			if ok && r.steps[n].Wave == r.steps[i].Wave {
				r.steps[n].followers = append(r.steps[n].followers, i)
				r.steps[i].blockers++
			}
		}
	}
	return r
}

// execute opens wave after wave and returns when nothing is left to do.
func (r *removal) execute(ctx context.Context) (Summary, error) {
	r.employ(ctx, min(r.Workers, max(1, len(r.steps))))
	r.begin = time.Now()
	if r.Timeout = runTimeout(ctx, r.Timeout); r.Timeout > 0 {
		r.after(r.Timeout, func() { r.stop(byRunTimeout) })
	}
	r.openWave(0)
	r.advance()
	r.keep(ctx, r.advance)
	for i := range r.steps {
		r.settle(i)
	}
	took := time.Since(r.begin)
	r.diagnose(ctx)
	return r.summary(took)
}

// advance opens the next wave, or ends the run, when nothing is left to wait
// for. After a failure the wave's other deletions are still asked for, and no
// later wave opens.
func (r *removal) advance() {
	for !r.over {
		if r.stopping {
			r.over = r.inFlight == 0
			return
		}
		switch w := &r.waves[r.wave]; {
		case w.unasked > 0:
			return
		case r.failures > 0:
			r.stop(byFailure)
			continue
		case w.unsettled > 0:
			return
		}
		r.emit(Event{Op: OpDelete, Wave: r.wave, State: Deleted, Detail: time.Since(r.waveOpen).Round(time.Millisecond).String()})
		r.openWave(r.wave + 1)
	}
}

// openWave asks for the deletion of every resource of a wave that waits for no
// other of it.
func (r *removal) openWave(wave int) {
	if r.wave, r.waveOpen = wave, time.Now(); wave >= len(r.waves) {
		r.over = true
		return
	}
	members := r.waves[wave].members
	r.emit(Event{Op: OpDelete, Wave: wave, State: Deleting, Detail: count(len(members), "resource")})
	if r.WaveTimeout > 0 {
		r.after(r.WaveTimeout, func() { r.waveExpired(wave) })
	}
	for _, i := range members {
		r.release(i)
	}
}

// waveExpired gives up on what of a wave is not gone.
func (r *removal) waveExpired(wave int) {
	if wave != r.wave || r.stopping {
		return
	}
	for _, i := range r.waves[wave].members {
		if !r.steps[i].state.Final() {
			r.timeOut(i, r.WaveTimeout, "wave")
		}
	}
}

// settle ends one step that the run left open. What was asked for the API server
// may do yet: that is not called "not started".
func (r *removal) settle(i int) {
	switch s := &r.steps[i]; {
	case s.state.Final():
	case r.ended == byRunTimeout && s.state == Deleting:
		r.timeOut(i, r.Timeout, "run")
	case s.accepted:
		r.finish(i, Unsettled, s.detail)
	case s.asked:
		r.finish(i, Unsettled, r.undeletedBecause(i))
	default:
		r.finish(i, NotStarted, "")
	}
}

// summary tells how every step ended, and joins the errors.
func (r *removal) summary(took time.Duration) (Summary, error) {
	s := Summary{Took: took}
	for i := range r.steps {
		st := &r.steps[i]
		s.Results = append(s.Results, Result{
			ID: st.ID, Wave: r.first + st.Wave, State: st.state, Err: st.err, Detail: st.detail,
			Unchanged: st.absent, Refused: st.retries, Sent: st.sent, Applied: st.answered, Done: st.done,
		})
	}
	err := s.join(&r.loop, r.Timeout)
	return s, err
}
