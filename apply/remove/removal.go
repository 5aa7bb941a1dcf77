package remove

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/internal/run/loop"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// removal is the state of one run of a Remover.
type removal struct {
	Remover
	loop.Loop
	plan      *ordering.Plan // the deletion as a plan, for the titles of its waves
	first     int            // its first wave there
	steps     []removeStep
	startedAt time.Time
	toStart   loop.Queue  // steps that wait for nothing any more
	order     *loop.Graph // of the requests of the steps
	watches   *loop.Watches

	dependents
	collecting collecting
	waveState
}

// waveState is how far the waves are.
type waveState struct {
	wave     int // the open wave; -1 before the first
	waveOpen time.Time
	waves    []removeWave
	failures int
}

func newRemoval(m Remover, order *ordering.Deletion, live map[object.ID]*unstructured.Unstructured) *removal {
	r := &removal{
		Remover: m, plan: order.Plan(), first: order.FirstWave(), order: loop.NewGraph(len(order.Steps)),
		steps:     make([]removeStep, len(order.Steps)),
		waveState: waveState{wave: -1, waves: make([]removeWave, order.Waves)},
	}
	r.watches = loop.NewWatches(&r.Loop, m.Cluster, m.Set, loop.WatchRun{
		ID: func(i int) object.ID { return r.steps[i].ID },
		Kind: func(i int) (kube.Kind, bool) {
			s := &r.steps[i]
			return s.kind, applyset.Owner(s.live) != m.Set
		},
		IsAwaited: func(i int) bool { return !r.steps[i].state.Final() },
		UID:       func(i int) string { return string(r.steps[i].live.GetUID()) },
		OnChange:  r.handleChange,
		Read:      r.reread,
	})
	r.Outages = loop.Outages{First: r.firstAwaited, Detail: r.awaitedDetail, Report: func(i int, detail string) { r.move(i, event.Deleting, detail) }}
	byID := make(map[object.ID]int, len(order.Steps))
	for i, s := range order.Steps {
		r.steps[i] = removeStep{DeletionStep: s, live: live[s.ID], outcome: outcome{state: event.Pending}}
		byID[s.ID] = i
		r.order.Hold(i) // until its wave opens
		r.watches.Count(i, s.ID)
		w := &r.waves[s.Wave]
		w.members, w.deletesPending, w.unfinished = append(w.members, i), w.deletesPending+1, w.unfinished+1
	}
	for i := range r.steps {
		for _, need := range r.steps[i].After {
			if n, ok := byID[need.ID]; ok && r.steps[n].Wave == r.steps[i].Wave {
				r.order.Add(n, loop.Edge{To: i, Gate: ordering.Applied})
			}
		}
	}
	return r
}

// execute opens one wave after the other and returns when nothing is left to
// do.
func (r *removal) execute(ctx context.Context) (event.Summary, error) {
	r.StartWorkers(ctx, min(r.Workers, max(1, len(r.steps))))
	r.startedAt = time.Now()
	r.keepOwners(ctx)
	r.findOwners(ctx)
	if r.Timeout = loop.RunTimeout(ctx, r.Timeout); r.Timeout > 0 {
		r.After(r.Timeout, func() { r.Stop(loop.ByRunTimeout) })
	}
	r.openWave(0)
	r.advance()
	r.RunLoop(ctx, r.advance)
	for i := range r.steps {
		r.finishOpen(i)
	}
	took := time.Since(r.startedAt)
	r.diagnose(ctx)
	return r.summary(took)
}

// advance opens the next wave, or ends the run, when there is nothing left to
// wait for. After a failure the wave's other deletions are still requested,
// and no later wave opens.
func (r *removal) advance() {
	r.toStart.Drain(r.start)
	for !r.Finished {
		if r.Stopping {
			r.Finished = r.InFlight == 0
			return
		}
		switch w := &r.waves[r.wave]; {
		case w.deletesPending > 0:
			return
		case r.failures > 0:
			r.Stop(loop.ByFailure)
			continue
		case w.unfinished > 0:
			return
		}
		r.emit(event.Event{Op: event.OpDelete, Wave: r.wave, State: event.Deleted, Detail: time.Since(r.waveOpen).Round(time.Millisecond).String()})
		r.openWave(r.wave + 1)
	}
}

// openWave starts the steps of a wave that wait for no other step.
func (r *removal) openWave(wave int) {
	if r.wave, r.waveOpen = wave, time.Now(); wave >= len(r.waves) {
		r.Finished = true
		return
	}
	members := r.waves[wave].members
	r.emit(event.Event{Op: event.OpDelete, Wave: wave, State: event.Deleting, Detail: plain.Count(len(members), "resource")})
	if r.WaveTimeout > 0 {
		r.After(r.WaveTimeout, func() { r.onWaveTimeout(wave) })
	}
	for _, i := range members {
		r.release(i)
		r.toStart.Drain(r.start)
	}
}

// onWaveTimeout times out the steps of a wave whose objects are not gone.
func (r *removal) onWaveTimeout(wave int) {
	if wave != r.wave || r.Stopping {
		return
	}
	for _, i := range r.waves[wave].members {
		if !r.steps[i].state.Final() {
			r.failTimeout(i, r.WaveTimeout, "wave")
		}
	}
}

// finishOpen ends one step that the run left open. A deletion that the API server
// may still carry out does not count as "not started".
func (r *removal) finishOpen(i int) {
	switch s := &r.steps[i]; {
	case s.state.Final():
	case r.EndedBy == loop.ByRunTimeout && s.state == event.Deleting:
		r.failTimeout(i, r.Timeout, "run")
	case s.request.accepted():
		r.finish(i, event.Unsettled, s.detail)
	case s.request.delivery != loop.NotSent:
		r.finish(i, event.Unsettled, r.notDeletedReason(i))
	default:
		r.finish(i, event.NotStarted, "")
	}
}

// summary returns the outcome of every step, and joins the errors.
func (r *removal) summary(took time.Duration) (event.Summary, error) {
	s := event.Summary{Took: took}
	for i := range r.steps {
		st := &r.steps[i]
		s.Results = append(s.Results, event.Result{
			ID: st.ID, Wave: r.first + st.Wave, State: st.state, Err: st.err, Detail: st.detail,
			Unchanged: st.absent, FailedAttempts: st.Failed, Times: event.Times{Sent: st.sentAt, Applied: st.request.acceptedAt, Done: st.doneAt},
		})
	}
	err := r.Join(&s, r.Timeout)
	return s, err
}
