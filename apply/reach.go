package apply

import (
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// While a run waits it sends nothing, and an API server that went away shows by
// its watches alone: they break and cannot be opened again. That is told once,
// of the first resource that is waited for, and once more when it is back.

// silentFor is how long that must last before it is told: a server that restarts
// behind a load balancer is back before that.
const silentFor = 5 * time.Second

// reach is whether the API server can be reached, as far as watches tell.
type reach struct {
	lost  time.Time // when a watch could first not be opened; zero when all is well
	cause error
	told  bool
	away  func() // tells of it
	back  func() // tells that it is over
}

// noAnswer recognises an error of a request that did not reach the API server.
func noAnswer(err error) bool {
	return isConnectionTrouble(err) || apierrors.IsUnexpectedServerError(err)
}

// heard notes what a change of a watch says of the API server.
func (l *loop) heard(c Change) {
	switch r := &l.reach; {
	case c.Lost == nil:
		told := r.told
		r.lost, r.cause, r.told = time.Time{}, nil, false
		if told {
			r.back()
		}
	case !noAnswer(c.Lost):
	case r.lost.IsZero():
		lost := time.Now()
		r.lost, r.cause = lost, c.Lost
		l.after(silentFor, func() {
			if r.lost.Equal(lost) && !r.told && !l.stopping {
				r.told = true
				r.away()
			}
		})
	default:
		r.cause = c.Lost
	}
}

// silence says since when the API server cannot be reached, and why; "" while
// nobody was told that it cannot.
func (r *reach) silence() string {
	if !r.told {
		return ""
	}
	return fmt.Sprintf("the API server cannot be reached since %s: %v", r.lost.Format(time.TimeOnly), inWords(r.cause))
}

// stale is what was known last of a resource, which is old news while the API
// server is silent.
func (r *reach) stale(detail string) string {
	silence := r.silence()
	switch {
	case silence == "":
		return detail
	case detail == "":
		return silence
	}
	return silence + "; before that: " + detail
}

// tellSilence says of the first step that is waited for that the API server
// cannot be reached.
func (r *run) tellSilence() {
	for i := range r.steps {
		s := &r.steps[i]
		if s.state == Waiting && !s.passed || s.state == Applying && s.refusal == nil && s.detail != "" {
			r.silent, r.before = i, s.detail
			r.move(i, s.state, r.reach.stale(s.detail))
			return
		}
	}
	r.silent = -1
}

// tellBack says of that step that the API server answers again.
func (r *run) tellBack() {
	if r.silent < 0 {
		return
	}
	if s := &r.steps[r.silent]; !s.state.Final() {
		r.move(r.silent, s.state, answersAgain(r.before))
	}
	r.silent = -1
}

// known is what was last known of a step that is given up, and why nothing newer
// is.
func (r *run) known(i int) string {
	s := &r.steps[i]
	if r.reach.told && i == r.silent {
		return r.reach.stale(r.before)
	}
	if s.pods.told.text != "" && s.state == Waiting { // the diagnosis says more of that
		return r.reach.stale(s.reason)
	}
	return r.reach.stale(s.detail)
}

// tellSilence says of the first step whose end is waited for that the API server
// cannot be reached.
func (r *removal) tellSilence() {
	for i := range r.steps {
		if s := &r.steps[i]; s.state == Deleting && s.accepted {
			r.silent = i
			r.move(i, Deleting, r.reach.stale(s.detail))
			return
		}
	}
	r.silent = -1
}

// tellBack says of that step that the API server answers again.
func (r *removal) tellBack() {
	if r.silent < 0 {
		return
	}
	if s := &r.steps[r.silent]; s.state == Deleting {
		r.move(r.silent, Deleting, answersAgain(waitsUntilGone(s.live)))
	}
	r.silent = -1
}

func answersAgain(detail string) string {
	if detail == "" {
		return "the API server answers again"
	}
	return "the API server answers again; " + detail
}
