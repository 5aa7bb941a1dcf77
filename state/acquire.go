package state

import (
	"context"
	"errors"
	"fmt"

	"github.com/ordapply/ordapply/internal/kube/fault"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/state/lease"
)

// openAhead opens the set, whose Lease is read meanwhile, and returns its lock.
func (r Run) openAhead(ctx context.Context) (lease.Lock, error) {
	lock := r.lock()
	ahead := r.Ahead
	if ahead == nil || ahead.lock.Lease != lock.Lease { // the set has moved its records since
		ahead = r.ReadAhead(ctx, r.TakeOver)
	}
	_, err := ahead.set()
	return lock.After(ahead.lock), err
}

// acquireInRecordsNamespace takes the lock in the namespace of the set's records; lock is the one in
// that namespace as far as it is known. From then on r writes only while the lock is held.
func (r *Run) acquireInRecordsNamespace(ctx context.Context, lock lease.Lock) (held context.Context, release func(), err error) {
	for ; ; lock = r.lock() {
		held, fence, release, err := r.acquireLock(ctx, lock)
		if gone, is := errors.AsType[*homeError](err); is && !gone.terminating && gone.recorded && r.mayReplaceHome() {
			if r.Namespace, err = r.replaceHome(ctx, r.TakeOver); err != nil {
				return nil, nil, err
			}
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		fenced := r.fenced(fence)
		if r.Parent.Namespace != "" {
			*r = fenced
			return held, release, nil
		}
		set, err := fenced.open(held, r.TakeOver)
		home := r.Namespace
		if err == nil {
			home, err = set.ClaimRecordsNamespace(held, r.Namespace)
		}
		if err == nil && home == r.Namespace {
			*r = fenced
			return held, release, nil
		}
		release()
		if err != nil {
			return nil, nil, err
		}
		r.Namespace = home
	}
}

// fenced returns the run with clusters that pass a fence.
func (r Run) fenced(fence kube.Fence) Run {
	r.Cluster, r.Applier.Cluster, r.Remover.Cluster = r.Cluster.Fenced(fence), r.Applier.Cluster.Fenced(fence), r.Remover.Cluster.Fenced(fence)
	return r
}

// homeError returns the error for a home that is not in the stream and does not exist, or
// is terminating.
func (r *Run) homeError(ctx context.Context, terminating bool) error {
	set, err := r.open(ctx, r.TakeOver)
	return &homeError{set: r.Parent, home: r.Namespace, terminating: terminating, recorded: err == nil && set.Home() != ""}
}

// acquireLock takes a lock. If its Namespace is in the stream and does not exist yet, that is applied
// first: by then all other checks have passed.
func (r *Run) acquireLock(ctx context.Context, lock lease.Lock) (held context.Context, fence kube.Fence, release func(), err error) {
	held, fence, release, err = lock.Acquire(ctx, r.LockTimeout)
	if fault.MissingNamespace(err) == "" && !fault.IsNamespaceTerminating(err) {
		return held, fence, release, err
	}
	if r.Applier.NewNamespace == r.Namespace && !fault.IsNamespaceTerminating(err) {
		if err := r.Applier.MakeNamespace(ctx, r.Plan); err != nil {
			return nil, nil, nil, err
		}
		if held, fence, release, err = r.lock().Acquire(ctx, r.LockTimeout); fault.MissingNamespace(err) == "" {
			return held, fence, release, err
		}
	}
	id := object.ID{Kind: "Namespace", Name: r.Namespace}
	if _, ours := r.Stream.Objects[id]; !ours {
		return nil, nil, nil, r.homeError(ctx, fault.IsNamespaceTerminating(err))
	}
	if err := r.Applier.MembershipErrors(ctx, r.Plan, r.Stream.Objects); err != nil {
		return nil, nil, nil, err
	}
	if err := r.check(ctx); err != nil {
		return nil, nil, nil, err
	}
	if fault.IsNamespaceTerminating(err) {
		if err := awaitGone(ctx, r.Cluster, r.Namespace, r.Applier.WaveTimeout); err != nil {
			return nil, nil, nil, err
		}
	}
	if err := r.Applier.Send(ctx, r.Stream.Objects[id]); err != nil {
		return nil, nil, nil, fmt.Errorf("apply %s, which holds the apply set: %w", id, err)
	}
	r.Applier.Sent = []object.ID{id}
	return r.lock().Acquire(ctx, r.LockTimeout)
}
