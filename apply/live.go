package apply

import (
	"errors"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/internal/run/loop"
	"github.com/ordapply/ordapply/internal/run/request"
)

// updateWatchLabel records whether a live object carries the set's label, so that a watch
// by the label reports it.
func (r *run) updateWatchLabel(i int, live *unstructured.Unstructured) {
	r.steps[i].unlabelled = applyset.Owner(live) != r.applier.Membership.Set
}

// handleChange handles a change that a watch reported. Changes count only for the
// object with the uid that this run applied, from the generation that it
// applied on.
func (r *run) handleChange(i int, obj *unstructured.Unstructured, change loop.Change) {
	switch s := &r.steps[i]; {
	case s.state == event.Applying && !s.phase.isTerminating():
		s.buffered.Put(obj, change)
	case string(obj.GetUID()) != s.applied.UID:
	case change == loop.Left:
		r.readAgain(i) // it may only have lost the label
	case change == loop.Deleted:
		r.handleGone(i)
	case s.state == event.Waiting && obj.GetGeneration() >= s.applied.Generation:
		r.evaluate(i, obj)
	}
}

// replayBuffered handles a change that was reported before the answer to the PATCH.
func (r *run) replayBuffered(i int, live *unstructured.Unstructured) {
	newer, read := r.steps[i].buffered.Take(live)
	switch {
	case r.steps[i].state != event.Waiting:
	case read:
		r.readAgain(i)
	case newer != nil:
		r.evaluate(i, newer)
	}
}

// readAgain reads an object again, if its step still waits for it.
func (r *run) readAgain(i int) {
	if r.steps[i].isAwaited() {
		r.send(request.Get, i)
	}
}

// handleGone handles the deletion of a step's object, expected or not.
func (r *run) handleGone(i int) {
	switch s := &r.steps[i]; {
	case s.state.Final():
	case s.phase.isTerminating():
		s.phase = patching
		r.requireAllFresh()
		r.restart(i)
	case s.state == event.Waiting:
		s.lastSeen = nil
		r.fail(i, event.Failed, event.WithCode(event.CodeConflict, errors.New("another client deleted it while the run waited for it")))
	}
}

// firstAwaited returns the first step that is waited for.
func (r *run) firstAwaited() (i int, found bool) {
	for i := range r.steps {
		s := &r.steps[i]
		if s.state == event.Waiting && !s.gatePassed || s.state == event.Applying && s.Cause == nil && s.reason != event.WaitNone {
			return i, true
		}
	}
	return 0, false
}

// awaitedDetail returns the detail of a step; false when it has ended.
func (r *run) awaitedDetail(i int) (detail string, waits bool) {
	return r.steps[i].detail, !r.steps[i].state.Final()
}

// reportDetail replaces the detail of a step.
func (r *run) reportDetail(i int, detail string) {
	r.wait(i, r.steps[i].state, r.steps[i].reason, detail)
}
