package state

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/internal/activity"
	"github.com/ordapply/ordapply/object"
)

// Lock keeps two runs on one set apart: the run that holds its Lease may write.
type Lock struct {
	Cluster Cluster
	Lease   object.ID // its namespace and name
	// Holder names this run to others, such as "ann@laptop 4711".
	Holder string
	// Lifetime is how long a holder that no longer renews its Lease is believed
	// to be alive; default 15s. It is at least a second.
	Lifetime time.Duration
	// Waiting is called once when another holder is waited for; default: not.
	Waiting func(*HeldError)
}

// LeaseOf is the Lease of a set, in a namespace.
func LeaseOf(parent object.ID, namespace string) object.ID {
	return object.ID{Group: coordinationv1.GroupName, Kind: "Lease", Namespace: namespace, Name: "ordapply." + strings.ToLower(parent.GroupKind()) + "." + shortened(parent.Name)}
}

// ErrLockLost is what a *LockLostError is to errors.Is.
var ErrLockLost = errors.New("the lock was lost")

// LockLostError is the cause of a context that ended because this run no longer
// holds its Lease. Nothing was sent after that was noticed.
type LockLostError struct {
	Lease object.ID
	How   string // what happened to it
}

func (e *LockLostError) Error() string {
	return fmt.Sprintf("this run lost its lock (Lease %s/%s): %s; it stopped at once, and what it had sent before stays applied. Another run may have begun since: let it finish, then run this again",
		e.Lease.Namespace, e.Lease.Name, e.How)
}

// Is lets package apply know that nothing more may be written.
func (e *LockLostError) Is(target error) bool {
	return target == ErrLockLost || target == apply.ErrFenced
}

// orLost is the error of what was done under a lock: that the lock was lost, where
// it was, and beside that only what had failed by itself.
func orLost(held context.Context, err error) error {
	lost := context.Cause(held)
	undone := new(UndoneError)
	if !errors.Is(lost, ErrLockLost) || errors.As(err, &undone) && errors.Is(undone.Err, ErrLockLost) {
		return err
	}
	kept := []error{lost}
	for _, fault := range faults(err) {
		if !errors.Is(fault, apply.ErrFenced) && !errors.Is(fault, context.Canceled) {
			kept = append(kept, fault)
		}
	}
	return errors.Join(kept...)
}

// faults are the errors that were joined.
func faults(err error) []error {
	joined, ok := err.(interface{ Unwrap() []error }) //nolint:errorlint // only where nothing is said around them
	if !ok {
		return []error{err}
	}
	var all []error
	for _, one := range joined.Unwrap() {
		all = append(all, faults(one)...)
	}
	return all
}

// HeldError says which run holds the lock.
type HeldError struct {
	Lease  object.ID
	Holder string
	Since  time.Time // when the holder took it
	Seen   time.Time // when it renewed it last
	Waited time.Duration
}

func (e *HeldError) Error() string {
	return fmt.Sprintf("another run has the lock: %s, since %s (renewed %s ago); waited %s. Let it finish, or wait longer with --lock-timeout; if it is surely dead, break its lock with: kubectl delete lease %s -n %s",
		e.Holder, age(e.Since), age(e.Seen), e.Waited.Round(time.Second), e.Lease.Name, e.Lease.Namespace)
}

func age(t time.Time) string { return time.Since(t).Round(time.Second).String() }

// Acquire takes the lock, waiting for another holder at most so long. Requests
// that write, with the context that it returns, go out only while the lock is
// held; it ends with a *LockLostError when the lock is lost. release gives the
// lock back and ends it.
func (l Lock) Acquire(ctx context.Context, wait time.Duration) (held context.Context, release func(), err error) {
	if l.Lifetime < time.Second {
		l.Lifetime = 15 * time.Second
	}
	if l.Holder == "" {
		l.Holder = thisRun()
	}
	lease := leaseAccess{cluster: l.Cluster, id: l.Lease, holder: l.Holder, lifetime: l.Lifetime}
	live, taken, err := (&contender{leaseAccess: lease, wait: wait, waiting: l.Waiting}).take(ctx)
	if err != nil {
		return nil, nil, err
	}
	held, end := context.WithCancelCause(ctx)
	k := newKeeper(lease, live, taken, end)
	renewing, stop := context.WithCancel(activity.Unrecorded(apply.OnOwnConnection(context.WithoutCancel(ctx))))
	ended := make(chan struct{})
	go func() { defer close(ended); k.run(renewing) }()
	release = func() {
		stop()
		<-ended
		k.giveBack(context.WithoutCancel(ctx))
	}
	return apply.WithFence(held, k.pass), release, nil
}

// firstLook bounds how long the API server may take to say whether the lock is
// free.
const firstLook = 30 * time.Second

// thisRun names this process to runs that find its lock.
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
