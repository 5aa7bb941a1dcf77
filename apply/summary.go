package apply

import (
	"errors"
	"time"
)

// summary tells how every step ended, and joins the errors.
func (r *run) summary(took time.Duration, begun error) (Summary, error) {
	s := Summary{Took: took}
	for i := range r.steps {
		st := &r.steps[i]
		s.Results = append(s.Results, Result{
			ID: st.ID, Layer: st.Layer, Wave: st.Wave, State: st.state, Detail: st.detail, Err: st.err,
			Unchanged: st.unchanged, Assumed: st.assumed, Absent: r.wasAbsent(i), Member: st.member, Adopted: st.adopted, Created: st.createdUID, Refused: st.retries, Sent: st.sent, Applied: st.answered, Done: st.done,
		})
	}
	err := s.join(&r.loop, r.a.Timeout)
	return s, errors.Join(begun, err)
}

// join gives the failures of a run in plan order, and then what ended it before
// its plan did. A run whose time was over is not done as long as something is
// left, even when nothing that it began went wrong.
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
	case l.ended == byFence:
		errs = append(errs, l.cause)
	case l.ended == byInterrupt:
		errs = append(errs, ErrInterrupted)
	case l.ended == byRunTimeout && len(left) > 0:
		s.OutOfTime = true
		errs = append(errs, &RunTimeoutError{After: timeout, Left: left, NothingSent: len(left) == len(s.Results)})
	}
	return errors.Join(errs...)
}

// settle ends one step that the run left open. What the API server has of it, it
// may carry out yet: that is not called "not started".
func (r *run) settle(i int) {
	s := &r.steps[i]
	sent := s.state == Applying && !s.sent.IsZero()
	held := s.state == Applying && s.detail != ""
	switch {
	case s.state.Final():
	case r.ended == byRunTimeout && (s.state == Waiting || sent || held):
		r.timeOut(i, r.a.Timeout, "run")
	case s.state == Waiting && s.passed:
		r.finish(i, Applied, s.detail)
	case s.state == Waiting:
		r.finish(i, Unsettled, s.detail)
	case sent:
		r.finish(i, Unsettled, r.unappliedBecause(i))
	default:
		r.finish(i, NotStarted, "")
	}
}
