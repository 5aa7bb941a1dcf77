package loop

import (
	"fmt"
	"time"

	"github.com/ordapply/ordapply/internal/kubeerr"
	"github.com/ordapply/ordapply/kube"
)

// While a run waits it sends no requests, so an unreachable API server shows
// only in its watches: they break and cannot be opened again. That is
// Reported once, for the first resource that is waited for, and once more
// when the API server is reachable again.

// outageReportDelay is how long the API server must be unreachable before that is
// Reported: one that restarts behind a load balancer is back sooner.
const outageReportDelay = 5 * time.Second

// Connectivity tracks whether the API server can be reached, as far as watches show.
type Connectivity struct {
	lost         time.Time // when a watch first failed to open; zero while all are open
	cause        error
	Reported     bool
	OnDisconnect func() // reports that the API server cannot be reached
	OnReconnect  func() // reports that it answers again
}

// trackConnection updates the connectivity from a change of a watch. An error that the
// API server answers with shows that it can be reached.
func (l *Loop) trackConnection(c kube.WatchEvent) {
	switch r := &l.Connectivity; {
	case c.Disconnected == nil, !kubeerr.IsUnanswered(c.Disconnected):
		told := r.Reported
		r.lost, r.cause, r.Reported = time.Time{}, nil, false
		if told {
			r.OnReconnect()
		}
	case r.lost.IsZero():
		lost := time.Now()
		r.lost, r.cause = lost, c.Disconnected
		l.After(outageReportDelay, func() {
			if r.lost.Equal(lost) && !r.Reported && !l.Stopping {
				r.Reported = true
				r.OnDisconnect()
			}
		})
	default:
		r.cause = c.Disconnected
	}
}

// Outage describes since when the API server cannot be reached, and why; ""
// until that was reported.
func (r *Connectivity) Outage() string {
	if !r.Reported {
		return ""
	}
	return fmt.Sprintf("the API server has been unreachable since %s: %v", r.lost.Format(time.TimeOnly), kubeerr.TimeoutInWords(r.cause))
}

// WithOutage adds to the last known detail of a resource that the API server
// cannot be reached, which makes it outdated.
func (r *Connectivity) WithOutage(detail string) string {
	silence := r.Outage()
	switch {
	case silence == "":
		return detail
	case detail == "":
		return silence
	}
	return silence + "; before that: " + detail
}

// RecoveryDetail is the detail of a resource when the API server is reachable again.
func RecoveryDetail(detail string) string {
	if detail == "" {
		return "the API server is reachable again"
	}
	return "the API server is reachable again; " + detail
}
