package apply

import (
	"errors"
	"time"

	"github.com/ordapply/ordapply/internal/loop"
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
	err := r.Join(&s, r.applier.Timeout)
	return s, errors.Join(begun, err)
}

// finishOpen ends one step that the run left open. A PATCH that the API server
// may still carry out does not count as "not started".
func (r *run) finishOpen(i int) {
	s := &r.steps[i]
	sent := s.state == Applying && !s.sentAt.IsZero()
	held := s.state == Applying && s.detail != ""
	switch {
	case s.state.Final():
	case r.EndedBy == loop.ByRunTimeout && (s.state == Waiting || sent || held):
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
