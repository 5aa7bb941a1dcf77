package state

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/client-go/tools/leaderelection"

	"github.com/ordapply/ordapply/object"
)

// Lock keeps two runs on one set apart: whoever holds its Lease may write.
type Lock struct {
	Cluster Cluster
	Lease   object.ID // its namespace and name
	// Holder names this run to others, such as "ann@laptop 4711".
	Holder string
	// Lifetime is how long a holder that no longer renews its Lease is believed
	// to be alive; default 15s. It is at least a second.
	Lifetime time.Duration
	// Waiting is told, once, that another holder is waited for; default: nobody.
	Waiting func(*HeldError)
}

// LeaseOf is the Lease of a set, in a namespace.
func LeaseOf(parent object.ID, namespace string) object.ID {
	return object.ID{Group: coordinationv1.GroupName, Kind: "Lease", Namespace: namespace, Name: "ordapply." + strings.ToLower(parent.GroupKind()) + "." + shortened(parent.Name)}
}

// ErrLockLost is the cause of a context that ended because this run no longer
// held its Lease: somebody broke it, or the API server did not let it be
// renewed in time.
var ErrLockLost = errors.New("the lock was lost: somebody deleted its Lease or took it over, or it could not be renewed in time; nothing more was sent. Run this again")

// HeldError says who keeps a run from beginning.
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

// Acquire takes the lock, waiting for another holder at most so long. The
// context that it returns ends with ErrLockLost when the lock does; release
// gives the lock back and ends it.
func (l Lock) Acquire(ctx context.Context, wait time.Duration) (held context.Context, release func(), err error) {
	if l.Lifetime < time.Second {
		l.Lifetime = 15 * time.Second
	}
	if l.Holder == "" {
		l.Holder = thisRun()
	}
	lease := newLeaseRecord(l.Cluster, l.Lease, l.Holder)
	electing, stop := context.WithCancel(context.WithoutCancel(ctx))
	held, lost := context.WithCancelCause(ctx)
	lease.taken = func() { lost(ErrLockLost) }
	began, ended := make(chan struct{}), make(chan struct{})
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: lease, LeaseDuration: l.Lifetime, RenewDeadline: l.Lifetime * 2 / 3, RetryPeriod: l.Lifetime / 5,
		ReleaseOnCancel: true,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) { close(began) },
			OnStoppedLeading: func() { lost(ErrLockLost) },
		},
	})
	if err != nil {
		stop()
		lost(nil)
		return nil, nil, err
	}
	go func() { defer close(ended); elector.Run(electing) }()
	release = func() {
		lost(context.Canceled)
		stop()
		<-ended
	}
	if err := l.await(ctx, lease, began, wait); err != nil {
		release()
		return nil, nil, err
	}
	return held, release, nil
}

// await returns when the lock is ours, or why it is not.
func (l Lock) await(ctx context.Context, lease *leaseRecord, began <-chan struct{}, wait time.Duration) error {
	deadline := time.NewTimer(firstLook)
	defer deadline.Stop()
	busy := lease.busy
	for {
		select {
		case <-began:
			return nil
		case <-lease.refused: // no waiting will help
			return lease.failure()
		case <-busy:
			busy = nil
			deadline.Reset(wait)
			if wait <= 0 {
				return lease.held(0)
			}
			if held, ok := errors.AsType[*HeldError](lease.held(0)); ok && l.Waiting != nil {
				l.Waiting(held)
			}
		case <-deadline.C:
			return lease.held(max(wait, 0))
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// firstLook bounds how long the API server may take to say whether the lock is
// free.
const firstLook = 30 * time.Second

// thisRun names this process to whoever finds its lock.
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
