package loop

import (
	"fmt"
	"time"

	"github.com/ordapply/ordapply/internal/kube/fault"
	"github.com/ordapply/ordapply/kube"
)

// While a run waits it sends no requests, so an unreachable API server shows
// only in its watches: they break and cannot be opened again. That is reported
// once, for the first resource that is waited for, and once more when the API
// server is reachable again.

// outageReportDelay is how long the API server must be unreachable before that is
// reported: one that restarts behind a load balancer is back sooner.
const outageReportDelay = 5 * time.Second

// Outages reports an unreachable API server, as far as watches show.
type Outages struct {
	// First returns the first step that is waited for; false without one.
	First func() (step int, found bool)
	// Detail returns the detail of a step; false when it has ended.
	Detail func(step int) (detail string, waits bool)
	// Report replaces the detail of a step.
	Report func(step int, detail string)

	lost     time.Time // when a watch first failed to open; zero while all are open
	cause    error
	reported bool   // the outage that began then
	step     int    // for which it was reported
	before   string // the detail of that before the outage
	open     bool   // there is such a step
}

// trackConnection updates the outages from a change of a watch. An error that the
// API server answers with shows that it can be reached.
func (l *Loop) trackConnection(c kube.WatchEvent) {
	switch o := &l.Outages; {
	case c.Disconnected == nil, !fault.IsUnanswered(c.Disconnected):
		o.end()
	case o.lost.IsZero():
		lost := time.Now()
		o.lost, o.cause = lost, c.Disconnected
		l.After(outageReportDelay, func() {
			if o.lost.Equal(lost) && !o.reported && !l.Stopping {
				o.report()
			}
		})
	default:
		o.cause = c.Disconnected
	}
}

func (o *Outages) report() {
	o.reported = true
	if o.step, o.open = o.First(); o.open {
		o.before, _ = o.Detail(o.step)
		o.Report(o.step, o.WithOutage(o.before))
	}
}

func (o *Outages) end() {
	open := o.open
	o.lost, o.cause, o.reported, o.open = time.Time{}, nil, false, false
	if !open {
		return
	}
	if _, waits := o.Detail(o.step); waits {
		o.Report(o.step, recoveryDetail(o.before))
	}
}

// Outage describes since when the API server cannot be reached, and why; ""
// until that was reported.
func (o *Outages) Outage() string {
	if !o.reported {
		return ""
	}
	return fmt.Sprintf("the API server has been unreachable since %s: %v", o.lost.Format(time.TimeOnly), fault.TimeoutInWords(o.cause))
}

// WithOutage adds to the last known detail of a resource that the API server
// cannot be reached, which makes it outdated.
func (o *Outages) WithOutage(detail string) string {
	silence := o.Outage()
	switch {
	case silence == "":
		return detail
	case detail == "":
		return silence
	}
	return silence + "; before that: " + detail
}

// LastDetail returns the last detail of a step that is given up, and why nothing newer is
// known.
func (o *Outages) LastDetail(step int, detail string) string {
	if o.open && step == o.step {
		detail = o.before
	}
	return o.WithOutage(detail)
}

// recoveryDetail is the detail of a resource when the API server is reachable again.
func recoveryDetail(detail string) string {
	if detail == "" {
		return "the API server is reachable again"
	}
	return "the API server is reachable again; " + detail
}
