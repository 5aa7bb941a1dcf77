package loop

import (
	"context"
	"time"

	"github.com/ordapply/ordapply/internal/kube/fault"
	"github.com/ordapply/ordapply/kube"
)

// Delivery is how far a request that writes may have come.
type Delivery int

// The deliveries.
const (
	NotSent        Delivery = iota // the API server has not got it
	InFlight                       // it is being sent for the first time
	MayHaveArrived                 // the API server may have carried it out
)

// Start records that the request is being sent.
func (d *Delivery) Start() { *d = max(*d, InFlight) }

// Answered records how the request ended.
func (d *Delivery) Answered(err error) {
	if kube.IsNotSent(err) {
		d.Unsent()
		return
	}
	*d = MayHaveArrived
}

// Unsent records that the request was not sent after all. An earlier attempt may
// have arrived.
func (d *Delivery) Unsent() {
	if *d != MayHaveArrived {
		*d = NotSent
	}
}

// Attempts are the failed attempts of a request.
type Attempts struct {
	Failed  int
	firstAt time.Time // when the first of them failed
	Cause   error     // why it will be sent again; nil while it is not waiting for that
}

// Fail counts a failed attempt, and returns the pause before the next.
func (a *Attempts) Fail(cause error) time.Duration {
	if a.Failed++; a.Failed == 1 {
		a.firstAt = time.Now()
	}
	return max(fault.Backoff(a.Failed), fault.RetryAfter(cause))
}

// Last reports whether an attempt after a pause would be more than limit after the first.
func (a *Attempts) Last(pause, limit time.Duration) bool {
	return time.Since(a.firstAt)+pause > limit
}

// Final returns the error of a request that is not sent again.
func (a *Attempts) Final(cause error) error {
	return fault.AfterAttempts(cause, a.Failed, a.firstAt)
}

// Retry records that the request, such as "apply Deployment shop/web", is sent again after a
// pause. It returns the report about that.
func (a *Attempts) Retry(ctx context.Context, of string, cause error, pause time.Duration) string {
	a.Cause = cause
	cause = fault.TimeoutInWords(cause)
	kube.ReportRetry(ctx, kube.Retry{Of: of, Attempt: a.Failed, Pause: pause, Cause: cause})
	return "retrying: " + cause.Error()
}
