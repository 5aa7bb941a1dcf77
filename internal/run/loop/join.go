package loop

import (
	"errors"
	"time"

	"github.com/ordapply/ordapply/apply/event"
)

// Join joins the failures of a run in plan order, followed by the cause of an
// early end. A run that timed out returns an error as long as something is left,
// even when nothing has failed.
func (l *Loop) Join(s *event.Summary, timeout time.Duration) error {
	var errs []error
	var left []event.Result
	for _, r := range s.Results {
		switch {
		case r.Err != nil:
			errs = append(errs, r.Err)
		case r.State == event.NotStarted, r.State == event.Unsettled:
			left = append(left, r)
		}
	}
	switch {
	case l.EndedBy == ByFence:
		errs = append(errs, l.Cause)
	case l.EndedBy == ByInterrupt:
		errs = append(errs, event.ErrInterrupted)
	case l.EndedBy == ByRunTimeout && len(left) > 0:
		s.OutOfTime = true
		errs = append(errs, &event.RunTimeoutError{After: timeout, Unfinished: left, NothingSent: len(left) == len(s.Results)})
	}
	return errors.Join(errs...)
}
