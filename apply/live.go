package apply

import (
	"errors"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/internal/kubeerr"
	"github.com/ordapply/ordapply/internal/loop"
	"github.com/ordapply/ordapply/internal/sending"
	"github.com/ordapply/ordapply/progress"
)

// watch makes sure that changes of a step's object reach the loop.
func (r *run) watch(i int) {
	s := &r.steps[i]
	key := r.watchOf(i)
	followers, watched := r.stepsByWatch[key]
	if s.watch != key {
		s.watch = key
		r.stepsByWatch[key] = append(followers, i)
	}
	if r.watches.Forbidden[key] {
		r.poll(i)
	}
	if !watched {
		r.StartWatch(r.applier.Cluster, key, s.kind, r.handleWatchEvent)
	}
}

// watchOf returns the watch that reports a step's object.
func (r *run) watchOf(i int) loop.WatchKey {
	s := &r.steps[i]
	return r.watches.Of(s.kind, s.ID, s.unlabelled)
}

// updateWatchLabel records whether a live object carries the set's label, so that a watch
// by the label reports it.
func (r *run) updateWatchLabel(i int, live *unstructured.Unstructured) {
	r.steps[i].unlabelled = applyset.Owner(live) != r.watches.Set
}

// isAwaited reports whether changes of a step's object matter now.
func (s *step) isAwaited() bool {
	return s.state == Waiting || s.terminating && !s.state.Final()
}

// handleWatchEvent handles a change that a watch reported. Changes count only for the
// object with the uid that this run applied, from the generation that it
// applied on.
func (r *run) handleWatchEvent(c loop.KeyedWatchEvent) {
	for _, obj := range c.Objects {
		i, ok := r.byID[Meta(obj).ID]
		if !ok {
			continue
		}
		s := &r.steps[i]
		if s.state == Applying && !s.terminating {
			s.buffered = &bufferedEvent{obj, c.Deleted}
			continue
		}
		if string(obj.GetUID()) != s.applied.UID {
			continue
		}
		switch {
		case c.Deleted && c.Set != "":
			r.readAgain(i) // it may only have lost the label
		case c.Deleted:
			r.handleGone(i)
		case s.state == Waiting && obj.GetGeneration() >= s.applied.Generation:
			r.evaluate(i, obj)
		}
	}
	switch {
	case c.Listed:
		r.readMissing(c)
	case c.Forbidden != nil:
		r.watches.Forbidden[c.WatchKey] = true
		for _, i := range r.stepsByWatch[c.WatchKey] {
			if s := &r.steps[i]; s.isAwaited() && s.watch == c.WatchKey {
				r.watch(i)
			}
		}
	}
}

// bufferedEvent is the last change that a watch reported for an object while its
// PATCH was in flight: on a busy machine the watch events of a PATCH may
// arrive before its answer.
type bufferedEvent struct {
	object  *unstructured.Unstructured
	deleted bool
}

// replayBuffered handles a change that was reported before the answer to the PATCH,
// if it is about the same object and newer than the answer.
func (r *run) replayBuffered(i int, live *unstructured.Unstructured) {
	s := &r.steps[i]
	seen := s.buffered
	s.buffered = nil
	if seen == nil || s.state != Waiting || seen.object.GetUID() != live.GetUID() {
		return
	}
	order, err := resourceversion.CompareResourceVersion(seen.object.GetResourceVersion(), live.GetResourceVersion())
	switch {
	case err != nil: // resourceVersions that only the server can compare
		r.send(sending.Get, i)
	case order <= 0:
	case seen.deleted:
		r.readAgain(i)
	default:
		r.evaluate(i, seen.object)
	}
}

// poll reads one object repeatedly until its step is done.
func (r *run) poll(i int) {
	if !r.steps[i].isAwaited() {
		return
	}
	r.send(sending.Get, i)
	r.After(loop.PollEvery, func() { r.poll(i) })
}

// readMissing reads the objects that a list did not contain: they were
// deleted while no watch was open, or the list is older than they are.
func (r *run) readMissing(c loop.KeyedWatchEvent) {
	listed := make(map[string]bool, len(c.Objects))
	for _, obj := range c.Objects {
		listed[string(obj.GetUID())] = true
	}
	for _, i := range r.stepsByWatch[c.WatchKey] {
		if s := &r.steps[i]; s.isAwaited() && s.watch == c.WatchKey && !listed[s.applied.UID] {
			r.send(sending.Get, i)
		}
	}
}

// handleRead handles the read of an object that a list did not contain or that a
// watch no longer reports.
func (r *run) handleRead(answer reply) {
	i := answer.step
	switch s := &r.steps[i]; {
	case s.terminating && s.applied.UID == "":
		r.handleTerminating(answer)
	case answer.err != nil && !kubeerr.IsMissing(answer.err):
		if !r.watches.Forbidden[r.watchOf(i)] { // otherwise polling reads it again anyway
			r.After(loop.PollEvery, func() { r.readAgain(i) })
		}
	case kubeerr.IsMissing(answer.err), answer.err == nil && string(answer.live.GetUID()) != r.steps[i].applied.UID:
		r.handleGone(i)
	default:
		r.handleStillExists(i, answer.live)
	}
}

// handleStillExists handles an object that still exists, and switches to another
// watch when it no longer carries the set's label.
func (r *run) handleStillExists(i int, live *unstructured.Unstructured) {
	r.updateWatchLabel(i, live)
	if r.steps[i].state == Waiting {
		r.evaluate(i, live)
	}
	if s := &r.steps[i]; s.isAwaited() && s.watch != r.watchOf(i) {
		r.watch(i)
	}
}

// readAgain reads an object again, if its step still waits for it.
func (r *run) readAgain(i int) {
	if r.steps[i].isAwaited() {
		r.send(sending.Get, i)
	}
}

// handleGone handles the deletion of a step's object, expected or not.
func (r *run) handleGone(i int) {
	switch s := &r.steps[i]; {
	case s.state.Final():
	case s.terminating:
		s.terminating = false
		r.requireAllFresh()
		r.start(i)
	case s.state == Waiting:
		s.lastSeen = nil
		r.fail(i, Failed, progress.WithCode(progress.CodeConflict, errors.New("another client deleted it while the run waited for it")))
	}
}

// reportOutage reports, for the first step that is waited for, that the API
// server cannot be reached.
func (r *run) reportOutage() {
	for i := range r.steps {
		s := &r.steps[i]
		if s.state == Waiting && !s.gatePassed || s.state == Applying && s.retryCause == nil && s.detail != "" {
			r.outageStep, r.detailBeforeOutage = i, s.detail
			r.move(i, s.state, r.Connectivity.WithOutage(s.detail))
			return
		}
	}
	r.outageStep = -1
}

// reportRecovery reports for the same step that the API server is reachable again.
func (r *run) reportRecovery() {
	if r.outageStep < 0 {
		return
	}
	if s := &r.steps[r.outageStep]; !s.state.Final() {
		r.move(r.outageStep, s.state, loop.RecoveryDetail(r.detailBeforeOutage))
	}
	r.outageStep = -1
}

// lastDetail returns the last known detail of a step that is given up, and why
// there is nothing newer.
func (r *run) lastDetail(i int) string {
	s := &r.steps[i]
	if r.Connectivity.Reported && i == r.outageStep {
		return r.Connectivity.WithOutage(r.detailBeforeOutage)
	}
	if r.podWatcher.Problem(i) != "" && s.state == Waiting { // the diagnosis says more about that
		return r.Connectivity.WithOutage(s.reason)
	}
	return r.Connectivity.WithOutage(s.detail)
}
