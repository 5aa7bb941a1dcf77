package fault

import (
	"math/rand/v2"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// RetryBudget returns how long a failed PATCH may be retried; 0 when the failure
// is not transient. The cause decides, not the status code.
func RetryBudget(err error) time.Duration {
	switch {
	case IsWebhookUnreachable(err): // also while it converts a new object
		return time.Minute
	case IsSchemaError(err), IsUnfitValue(err), IsDenied(err), isConversionRefusal(err), isUnfitForLastVersion(err):
		return 0
	case MissingServiceAccount(err) != "":
		return 10 * time.Second // a new Namespace gets its default one a moment later
	case IsNotServed(err):
		return 10 * time.Second // API servers behind one address learn of a CRD one after another
	case apierrors.IsConflict(err):
		if IsFieldConflict(err) {
			return 0
		}
		return 30 * time.Second
	case apierrors.IsAlreadyExists(err): // created concurrently
		return 30 * time.Second
	case apierrors.IsTooManyRequests(err), apierrors.IsServerTimeout(err), apierrors.IsTimeout(err),
		apierrors.IsInternalError(err), apierrors.IsServiceUnavailable(err), apierrors.IsUnexpectedServerError(err):
		return 30 * time.Second
	case IsConnectionError(err):
		return 30 * time.Second
	}
	return 0
}

// RetryAfter returns the delay that the server asked for; 0 if it did not.
func RetryAfter(err error) time.Duration {
	seconds, _ := apierrors.SuggestsClientDelay(err)
	return time.Duration(seconds) * time.Second
}

// Backoff returns the delay before the n-th retry: from 0.1 s doubling to 5
// s, half of it jitter. The jitter depends on the clock alone, so that runs with a fake
// clock and the same answers send the same requests at the same times.
func Backoff(n int) time.Duration {
	pause := min(100*time.Millisecond<<min(n-1, 10), 5*time.Second)
	jitter := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), uint64(n)))
	return pause/2 + time.Duration(jitter.Int64N(int64(pause/2)+1))
}
