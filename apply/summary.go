package apply

import (
	"errors"
	"time"
)

// summary returns the outcome of every step, and joins the errors.
func (r *run) summary(took time.Duration, begun error) (Summary, error) {
	s := Summary{Took: took}
	for i := range r.steps {
		st := &r.steps[i]
		s.Results = append(s.Results, Result{
			ID: st.ID, Layer: st.Layer, Wave: st.Wave, State: st.state, Detail: st.detail, Err: st.err,
			Unchanged: st.unchanged, Assumed: st.assumed, Absent: r.wasAbsent(i), Member: st.member, Adopted: st.adopted, Created: st.createdUID, FailedAttempts: st.retries, Sent: st.sentAt, Applied: st.answeredAt, Done: st.doneAt,
		})
	}
	err := s.join(&r.loop, r.applier.Timeout)
	return s, errors.Join(begun, err)
}

// join joins the failures of a run in plan order, followed by what ended the
// run early. A run that timed out returns an error as long as something is
// left, even when nothing has failed.
func (s *Summary) join(l *loop, timeout time.Duration) error {
	var errs []error
	var left []Result
	for _, r := range s.Results {
		switch {
		case r.Err != nil:
			errs = append(errs, r.Err)
		case r.State == NotStarted, r.State == Unsettled:
			left = append(left, r)
		}
	}
	switch {
	case l.endedBy == byFence:
		errs = append(errs, l.cause)
	case l.endedBy == byInterrupt:
		errs = append(errs, ErrInterrupted)
	case l.endedBy == byRunTimeout && len(left) > 0:
		s.OutOfTime = true
		errs = append(errs, &RunTimeoutError{After: timeout, Unfinished: left, NothingSent: len(left) == len(s.Results)})
	}
	return errors.Join(errs...)
}

// finishOpen ends one step that the run left open. A PATCH that the API server
// may still carry out does not count as "not started".
func (r *run) finishOpen(i int) {
	s := &r.steps[i]
	sent := s.state == Applying && !s.sentAt.IsZero()
	held := s.state == Applying && s.detail != ""
	switch {
	case s.state.Final():
	case r.endedBy == byRunTimeout && (s.state == Waiting || sent || held):
		r.failTimeout(i, r.applier.Timeout, "run")
	case s.state == Waiting && s.gatePassed:
		r.finish(i, Applied, s.detail)
	case s.state == Waiting:
		r.finish(i, Unsettled, s.detail)
	case sent:
		r.finish(i, Unsettled, r.notAppliedReason(i))
	default:
		r.finish(i, NotStarted, "")
	}
}
