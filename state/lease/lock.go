// Package lease is the lock of an apply set: a coordination.k8s.io Lease that one run
// holds, renews and releases. A request that writes passes only while the lock is held.
//
//	lock := lease.Lock{Cluster: cluster.WithOwnConnection(), Lease: lease.Of(parent, "shop")}
//	held, fence, release, err := lock.Acquire(ctx, time.Minute)
//	defer release()
//	cluster = cluster.Fenced(fence) // its writes fail with a *LostError when the lock is lost
//
// Leases are read and written as client-go's leader election does it.
package lease

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/internal/activity"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// Lock keeps two runs from changing one set at the same time: only the run
// that holds its Lease may write.
type Lock struct {
	// Cluster is required. It must have no fence, which would delay renewals, and should
	// have a connection of its own.
	Cluster Cluster
	Lease   object.ID // required: its namespace and name
	// Holder identifies this run to others, such as "ann@laptop 4711"; default:
	// user, host, process and time.
	Holder string
	// Lifetime is how long a holder that does not renew its Lease counts as
	// alive; default 15s, which also replaces values below one second.
	Lifetime time.Duration
	// OnWaiting is called once when another holder is waited for; optional.
	OnWaiting func(*HeldError)
	// HeldWithoutNamespace reports whether the lock is still held although its Lease was
	// deleted with its Namespace, for a run that deletes that Namespace itself. Without it
	// the lock is lost then.
	HeldWithoutNamespace func(context.Context) (bool, error)

	ahead func() (reading, error) // waits for what ReadAhead reads; nil: it was not called
}

// DefaultLifetime is the default of Lock.Lifetime.
const DefaultLifetime = 15 * time.Second

// Of returns the ID of a set's Lease in a namespace.
func Of(parent object.ID, namespace string) object.ID {
	return object.ID{Group: coordinationv1.GroupName, Kind: "Lease", Namespace: namespace, Name: applyset.LeasePrefix + strings.ToLower(parent.GroupKind()) + "." + applyset.ShortName(parent.Name)}
}

// OrLost returns the error of an operation under a lock. If the lock was lost, that
// comes first, followed only by errors with other causes, or of requests that may
// have been late.
func OrLost(held context.Context, err error) error {
	lost := context.Cause(held)
	if !errors.Is(lost, ErrLost) {
		return err
	}
	kept := []error{lost}
	for _, fault := range ordering.FlattenErrors(err) {
		if kube.Late(fault) != nil || !errors.Is(fault, kube.ErrFenced) && !errors.Is(fault, context.Canceled) {
			kept = append(kept, fault)
		}
	}
	return errors.Join(kept...)
}

// ReadAhead starts to read the Lease, and returns a lock whose Acquire need not wait for that. It is for
// a caller that has to find out something else before it takes the lock.
func (l Lock) ReadAhead(ctx context.Context) Lock {
	lease := access{cluster: l.Cluster, id: l.Lease}
	l.ahead = activity.InBackground(func() (reading, error) {
		ctx, cancel := context.WithTimeout(ctx, readTimeout)
		defer cancel()
		return lease.read(ctx)
	})
	return l
}

// After returns a lock that does not read its Lease again that another lock has read ahead.
func (l Lock) After(other Lock) Lock {
	l.ahead = other.ahead
	return l
}

// Acquire takes the lock, waiting at most wait for another holder; a *HeldError
// when that is not enough. fence lets requests that write pass only while the lock is
// held; everything under the lock is written with a cluster that has it. held ends with a
// *LostError when the lock is lost. release releases the lock and ends held; call it once.
func (l Lock) Acquire(ctx context.Context, wait time.Duration) (held context.Context, fence kube.Fence, release func(), err error) {
	if l.Lifetime < time.Second {
		l.Lifetime = DefaultLifetime
	}
	if l.Holder == "" {
		l.Holder = thisRun()
	}
	lease := access{cluster: l.Cluster, id: l.Lease, holder: l.Holder, lifetime: l.Lifetime}
	live, taken, err := (&acquirer{access: lease, ahead: l.ahead, wait: wait, waiting: l.OnWaiting}).acquire(ctx)
	if err != nil {
		return nil, nil, nil, err
	}
	held, end := context.WithCancelCause(ctx)
	k := newRenewer(lease, live, taken, end)
	k.heldWithoutNamespace = l.HeldWithoutNamespace
	renewing, stop := context.WithCancel(activity.Unrecorded(context.WithoutCancel(ctx)))
	ended := make(chan struct{})
	go func() { defer close(ended); k.run(renewing) }()
	release = func() {
		stop()
		<-ended
		k.release(context.WithoutCancel(ctx))
	}
	return held, k.fence, release, nil
}

// Drop deletes the Lease of a set that was deleted, unless another run has taken it
// since.
func (l Lock) Drop(ctx context.Context) error {
	lease, err := access{cluster: l.Cluster, id: l.Lease}.read(ctx)
	if err == nil && holderOf(lease.spec) != "" {
		return nil
	}
	if err == nil {
		err = l.Cluster.Delete(ctx, Kind(), lease.live, kube.DeleteOptions{Unchanged: true})
	}
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
}

// AwaitExpiry waits as long as a run counts as alive that cannot renew its Lease any
// more, because the Lease was deleted with its Namespace.
func AwaitExpiry(ctx context.Context) error {
	ctx, done := activity.Start(ctx, "waiting until a run that may have held the lock of the apply set has ended")
	defer done()
	select {
	case <-time.After(DefaultLifetime):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// readTimeout bounds how long the API server may take to report whether the
// lock is free.
const readTimeout = 30 * time.Second

// startedAt precedes the time that tells apart the runs with a process ID.
const startedAt = " at "

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
	return fmt.Sprintf("%s%s process %d%s%s", who, host, os.Getpid(), startedAt, time.Now().UTC().Format(time.RFC3339Nano))
}
