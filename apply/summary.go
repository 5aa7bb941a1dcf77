package apply

import (
	"errors"
	"slices"
	"time"
)

// summary tells how every step ended, and joins the errors.
func (r *run) summary(took time.Duration, begun error) (Summary, error) {
	s := Summary{Took: took}
	for i := range r.steps {
		st := &r.steps[i]
		s.Results = append(s.Results, Result{
			ID: st.ID, Layer: st.Layer, Wave: st.Wave, State: st.state, Detail: st.detail, Err: st.err,
			Unchanged: st.unchanged, Refused: st.retries, Sent: st.sent, Applied: st.answered, Done: st.done,
		})
	}
	err := errors.Join(begun, joinResults(s.Results))
	if r.ended == byInterrupt {
		err = errors.Join(err, ErrInterrupted)
	}
	return s, err
}

// settle ends one step that the run left open.
func (r *run) settle(i int) {
	s := &r.steps[i]
	switch {
	case s.state.Final():
	case r.ended == byRunTimeout && (s.state == Waiting || s.state == Applying):
		r.timeOut(i, r.a.Timeout, "run")
	case r.ended == byRunTimeout && s.state == Pending && s.Wave == 0 && r.nothingSent():
		s.detail = "the time was over before anything was sent: the API server was slow to tell what there is"
		r.timeOut(i, r.a.Timeout, "run")
	case s.state == Waiting && s.passed:
		r.finish(i, Applied, s.detail)
	case s.state == Waiting:
		r.finish(i, Unsettled, s.detail)
	default:
		r.finish(i, NotStarted, "")
	}
}

// nothingSent tells whether the run ended before its first PATCH.
func (r *run) nothingSent() bool {
	return !slices.ContainsFunc(r.steps, func(s step) bool { return !s.sent.IsZero() })
}
