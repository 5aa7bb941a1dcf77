package lease

import (
	"errors"
	"fmt"
	"time"

	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
)

// ErrLost matches every *LostError with errors.Is.
var ErrLost = errors.New("the lock was lost")

// LostError is the cause of a context that ended because this run no
// longer holds its Lease. Nothing is sent once that was noticed.
type LostError struct {
	Lease object.ID // the lock's
	How   string    // how it was lost
}

// Error names the Lease, how it was lost, and the remedy.
func (e *LostError) Error() string {
	return fmt.Sprintf("this run lost its lock (Lease %s/%s): %s; it stopped immediately, and what it sent before remains applied. Another run may have started since: let it finish, then run this again",
		e.Lease.Namespace, e.Lease.Name, e.How)
}

// Is matches ErrLost and kube.ErrFenced.
func (e *LostError) Is(target error) bool {
	return target == ErrLost || target == kube.ErrFenced
}

// HeldError reports which run holds the lock.
type HeldError struct {
	Lease   object.ID     // the lock's
	Holder  string        // Lock.Holder of that run
	Since   time.Time     // when the holder took it
	Renewed time.Time     // when the holder renewed it last
	Waited  time.Duration // how long this run waited for it
}

// Error names the holder, and how to break the lock of one that is dead.
func (e *HeldError) Error() string {
	return fmt.Sprintf("another run holds the lock: %s (%s); waited %s. Let it finish, or wait longer with --lock-timeout; if it is certainly dead, break its lock with: kubectl delete lease %s -n %s",
		e.Who(), e.renewal(time.Now()), e.Waited.Round(time.Second), e.Lease.Name, e.Lease.Namespace)
}

// holderWidth is the maximum length of a holder in a message, in characters: a user name, a host
// name of at most 253, and a process ID fit.
const holderWidth = 320

// Who describes the holder for people: "ann@laptop process 7, for 4s".
func (e *HeldError) Who() string {
	return process(e.Holder) + ", for " + age(e.Since)
}

// clockSkew is how far the clocks of two machines may differ without a remark.
const clockSkew = time.Minute

// renewal describes the last renewal, by the clock of the Lease's writer: a time in the
// future does not show that the holder is alive.
func (e *HeldError) renewal(now time.Time) string {
	if e.Renewed.Sub(now) > clockSkew {
		return "renewed at " + e.Renewed.UTC().Format(time.RFC3339) + ", which is in the future: a clock is wrong, or no run wrote the Lease"
	}
	return "renewed " + plain.Age(now, e.Renewed) + " ago"
}

func age(t time.Time) string { return plain.Age(time.Now(), t) }
