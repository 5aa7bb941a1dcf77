package apply

import (
	"fmt"
	"time"

	"github.com/ordapply/ordapply/internal/kubeerr"
	"github.com/ordapply/ordapply/kube"
)

// While a run waits it sends no requests, so an unreachable API server shows
// only in its watches: they break and cannot be opened again. That is
// reported once, for the first resource that is waited for, and once more
// when the API server is reachable again.

// outageReportDelay is how long the API server must be unreachable before that is
// reported: one that restarts behind a load balancer is back sooner.
const outageReportDelay = 5 * time.Second

// connectivity tracks whether the API server can be reached, as far as watches show.
type connectivity struct {
	lost         time.Time // when a watch first failed to open; zero while all are open
	cause        error
	reported     bool
	onDisconnect func() // reports that the API server cannot be reached
	onReconnect  func() // reports that it answers again
}

// trackConnection updates the connectivity from a change of a watch. An error that the
// API server answers with shows that it can be reached.
func (l *loop) trackConnection(c kube.WatchEvent) {
	switch r := &l.connectivity; {
	case c.Disconnected == nil, !kubeerr.IsUnanswered(c.Disconnected):
		told := r.reported
		r.lost, r.cause, r.reported = time.Time{}, nil, false
		if told {
			r.onReconnect()
		}
	case r.lost.IsZero():
		lost := time.Now()
		r.lost, r.cause = lost, c.Disconnected
		l.after(outageReportDelay, func() {
			if r.lost.Equal(lost) && !r.reported && !l.stopping {
				r.reported = true
				r.onDisconnect()
			}
		})
	default:
		r.cause = c.Disconnected
	}
}

// outage describes since when the API server cannot be reached, and why; ""
// until that was reported.
func (r *connectivity) outage() string {
	if !r.reported {
		return ""
	}
	return fmt.Sprintf("the API server has been unreachable since %s: %v", r.lost.Format(time.TimeOnly), kubeerr.TimeoutInWords(r.cause))
}

// withOutage adds to the last known detail of a resource that the API server
// cannot be reached, which makes it outdated.
func (r *connectivity) withOutage(detail string) string {
	silence := r.outage()
	switch {
	case silence == "":
		return detail
	case detail == "":
		return silence
	}
	return silence + "; before that: " + detail
}

// reportOutage reports, for the first step that is waited for, that the API
// server cannot be reached.
func (r *run) reportOutage() {
	for i := range r.steps {
		s := &r.steps[i]
		if s.state == Waiting && !s.gatePassed || s.state == Applying && s.retryCause == nil && s.detail != "" {
			r.outageStep, r.detailBeforeOutage = i, s.detail
			r.move(i, s.state, r.connectivity.withOutage(s.detail))
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
		r.move(r.outageStep, s.state, recoveryDetail(r.detailBeforeOutage))
	}
	r.outageStep = -1
}

// lastDetail returns the last known detail of a step that is given up, and why
// there is nothing newer.
func (r *run) lastDetail(i int) string {
	s := &r.steps[i]
	if r.connectivity.reported && i == r.outageStep {
		return r.connectivity.withOutage(r.detailBeforeOutage)
	}
	if s.podCheck.reported.text != "" && s.state == Waiting { // the diagnosis says more about that
		return r.connectivity.withOutage(s.reason)
	}
	return r.connectivity.withOutage(s.detail)
}

// reportOutage reports, for the first step whose deletion is waited for, that
// the API server cannot be reached.
func (r *removal) reportOutage() {
	for i := range r.steps {
		if s := &r.steps[i]; s.state == Deleting && s.accepted {
			r.outageStep = i
			r.move(i, Deleting, r.connectivity.withOutage(s.detail))
			return
		}
	}
	r.outageStep = -1
}

// reportRecovery reports for the same step that the API server is reachable again.
func (r *removal) reportRecovery() {
	if r.outageStep < 0 {
		return
	}
	if s := &r.steps[r.outageStep]; s.state == Deleting {
		r.move(r.outageStep, Deleting, recoveryDetail(deletionDetail(s.live)))
	}
	r.outageStep = -1
}

func recoveryDetail(detail string) string {
	if detail == "" {
		return "the API server is reachable again"
	}
	return "the API server is reachable again; " + detail
}
