package state

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"

	"github.com/ordapply/ordapply/internal/activity"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
)

// Lock keeps two runs from changing one set at the same time: only the run
// that holds its Lease may write.
type Lock struct {
	Cluster Cluster   // required
	Lease   object.ID // required: its namespace and name
	// Holder identifies this run to others, such as "ann@laptop 4711"; default:
	// user, host, process and time.
	Holder string
	// Lifetime is how long a holder that does not renew its Lease counts as
	// alive; default 15s, which also replaces values below one second.
	Lifetime time.Duration
	// OnWaiting is called once when another holder is waited for; optional.
	OnWaiting func(*HeldError)
}

// LeaseOf returns the ID of a set's Lease in a namespace.
func LeaseOf(parent object.ID, namespace string) object.ID {
	return object.ID{Group: coordinationv1.GroupName, Kind: "Lease", Namespace: namespace, Name: "ordapply." + strings.ToLower(parent.GroupKind()) + "." + shortenName(parent.Name)}
}

// ErrLockLost matches every *LockLostError with errors.Is.
var ErrLockLost = errors.New("the lock was lost")

// LockLostError is the cause of a context that ended because this run no
// longer holds its Lease. Nothing is sent once that was noticed.
type LockLostError struct {
	Lease object.ID // that of the lock
	How   string    // what happened to it
}

// Error names the Lease, what happened to it, and what to do.
func (e *LockLostError) Error() string {
	return fmt.Sprintf("this run lost its lock (Lease %s/%s): %s; it stopped immediately, and what it sent before remains applied. Another run may have started since: let it finish, then run this again",
		e.Lease.Namespace, e.Lease.Name, e.How)
}

// Is matches ErrLockLost and kube.ErrFenced.
func (e *LockLostError) Is(target error) bool {
	return target == ErrLockLost || target == kube.ErrFenced
}

// orLost returns the error of an operation under a lock. If the lock was
// lost, that comes first, followed only by errors with other causes.
func orLost(held context.Context, err error) error {
	lost := context.Cause(held)
	undone := new(UndoneError)
	if !errors.Is(lost, ErrLockLost) || errors.As(err, &undone) && errors.Is(undone.Err, ErrLockLost) {
		return err
	}
	kept := []error{lost}
	for _, fault := range joinedErrors(err) {
		if !errors.Is(fault, kube.ErrFenced) && !errors.Is(fault, context.Canceled) {
			kept = append(kept, fault)
		}
	}
	return errors.Join(kept...)
}

// joinedErrors returns the leaves of joined errors.
func joinedErrors(err error) []error {
	joined, ok := err.(interface{ Unwrap() []error }) //nolint:errorlint // only where nothing is said around them
	if !ok {
		return []error{err}
	}
	var all []error
	for _, one := range joined.Unwrap() {
		all = append(all, joinedErrors(one)...)
	}
	return all
}

// HeldError reports which run holds the lock.
type HeldError struct {
	Lease   object.ID     // that of the lock
	Holder  string        // what Lock.Holder was there
	Since   time.Time     // when the holder took it
	Renewed time.Time     // when the holder renewed it last
	Waited  time.Duration // how long this run waited for it
}

// Error names the holder, and how to break the lock of one that is dead.
func (e *HeldError) Error() string {
	return fmt.Sprintf("another run holds the lock: %s, for %s (renewed %s ago); waited %s. Let it finish, or wait longer with --lock-timeout; if it is certainly dead, break its lock with: kubectl delete lease %s -n %s",
		e.Holder, age(e.Since), age(e.Renewed), e.Waited.Round(time.Second), e.Lease.Name, e.Lease.Namespace)
}

func age(t time.Time) string { return time.Since(t).Round(time.Second).String() }

// Acquire takes the lock, waiting at most wait for another holder; a *HeldError
// when that is not enough. Requests that write, with the returned context, are
// sent only while the lock is held; the context ends with a *LockLostError when
// it is lost. release releases the lock and ends the context; call it once.
func (l Lock) Acquire(ctx context.Context, wait time.Duration) (held context.Context, release func(), err error) {
	if l.Lifetime < time.Second {
		l.Lifetime = 15 * time.Second
	}
	if l.Holder == "" {
		l.Holder = thisRun()
	}
	lease := leaseAccess{cluster: l.Cluster, id: l.Lease, holder: l.Holder, lifetime: l.Lifetime}
	live, taken, err := (&lockAcquirer{leaseAccess: lease, wait: wait, waiting: l.OnWaiting}).acquire(ctx)
	if err != nil {
		return nil, nil, err
	}
	held, end := context.WithCancelCause(ctx)
	k := newLeaseRenewer(lease, live, taken, end)
	renewing, stop := context.WithCancel(activity.Unrecorded(kube.WithOwnConnection(context.WithoutCancel(ctx))))
	ended := make(chan struct{})
	go func() { defer close(ended); k.run(renewing) }()
	release = func() {
		stop()
		<-ended
		k.release(context.WithoutCancel(ctx))
	}
	return kube.WithFence(held, k.fence), release, nil
}

// lockReadTimeout bounds how long the API server may take to report whether the
// lock is free.
const lockReadTimeout = 30 * time.Second

// thisRun identifies this process to runs that find its lock.
func thisRun() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown host"
	}
	who := os.Getenv("USER")
	if who != "" {
		who += "@"
	}
	return fmt.Sprintf("%s%s process %d at %s", who, host, os.Getpid(), time.Now().UTC().Format(time.RFC3339Nano))
}
