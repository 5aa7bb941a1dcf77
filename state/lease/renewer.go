package lease

import (
	"context"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/internal/kube/fault"
)

// renewer renews the Lease of a lock and is the fence of all writes under it.
// A request passes while the last renewal is recent. If it is not, because
// the process was suspended or the API server did not answer, requests wait
// for the next renewal: one that succeeds proves that no other run had the
// lock in between, and the run continues.
type renewer struct {
	access
	cancel func(error) // ends the run

	heldWithoutNamespace func(context.Context) (bool, error) // of the Lock; nil: never

	renewNow chan struct{} // holds one when the Lease should be renewed at once

	mu        sync.Mutex
	live      *unstructured.Unstructured // as last written or read by this run
	renewed   moment                     // before the request of the last renewal was sent
	changed   chan struct{}              // closed and replaced when the Lease was renewed or lost
	lastError error                      // of the last renewal, when it failed
	lost      error                      // why the lock is lost; nil while it is held
	released  bool                       // the lock was released
}

// renewalWait bounds how long a request waits for the renewal of its lock. It
// equals the time for which requests are retried while the API server does
// not answer.
const renewalWait = 30 * time.Second

func newRenewer(lease access, live *unstructured.Unstructured, taken moment, lose func(error)) *renewer {
	return &renewer{access: lease, cancel: lose, live: live, renewed: taken, renewNow: make(chan struct{}, 1), changed: make(chan struct{})}
}

// fence is the kube.Fence of the lock: it returns nil while the Lease is valid, and waits
// for a renewal otherwise, at most renewalWait, after which the lock is lost.
func (k *renewer) fence(ctx context.Context) error {
	var late <-chan time.Time
	for {
		fresh, changed, err := k.status()
		if err != nil || fresh {
			return err
		}
		select {
		case k.renewNow <- struct{}{}:
		default:
		}
		if late == nil {
			late = time.After(renewalWait)
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-late:
			k.markLost(k.notRenewedReason())
		}
	}
}

// status reports whether the lock is held for sure now, with a channel that
// is closed on a change; an error when it is lost.
func (k *renewer) status() (fresh bool, changed <-chan struct{}, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case k.lost != nil:
		return false, nil, k.lost
	case k.released:
		return false, nil, &LostError{Lease: k.id, How: "it was released before the last write was sent"}
	}
	return k.renewed.ago() < k.validity(), k.changed, nil
}

// notRenewedReason describes why the lock could not be renewed in time.
func (k *renewer) notRenewedReason() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	how := fmt.Sprintf("it could not be renewed for %s", k.renewed.ago().Round(time.Second))
	if k.lastError != nil {
		how += fmt.Sprintf(" (%v)", k.lastError)
	}
	return how
}

// markLost marks the lock as lost: no request passes from now on, and the run
// ends.
func (k *renewer) markLost(how string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.lost != nil || k.released {
		return
	}
	k.lost = &LostError{Lease: k.id, How: how}
	k.cancel(k.lost)
	k.notify()
}

// notify wakes the requests that wait. The caller holds the mutex.
func (k *renewer) notify() {
	close(k.changed)
	k.changed = make(chan struct{})
}

// run renews the Lease until ctx ends or the lock is lost.
func (k *renewer) run(ctx context.Context) {
	early, pause := k.renewNow, k.retryPeriod()
	for {
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-early:
			timer.Stop()
		case <-ctx.Done():
			timer.Stop()
			return
		}
		early, pause = k.renewNow, k.retryPeriod()
		switch how, err := k.renew(ctx); {
		case how != "":
			k.markLost(how)
			return
		case err != nil && ctx.Err() == nil:
			k.recordFailure(err)
			early, pause = nil, min(pause, time.Second)
		}
	}
}

// recordFailure records the error of a renewal.
func (k *renewer) recordFailure(err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.lastError = err
}

// recordRenewal records a renewal, with the moment before its request and the
// Lease.
func (k *renewer) recordRenewal(since moment, live *unstructured.Unstructured) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.renewed, k.live, k.lastError = since, live, nil
	k.notify()
}

func (k *renewer) current() *unstructured.Unstructured {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.live
}

// renew renews the Lease. It returns how the lock was lost, or an error when
// that is not known.
func (k *renewer) renew(ctx context.Context) (lost string, err error) {
	ctx, cancel := context.WithTimeout(ctx, k.lifetime/3)
	defer cancel()
	live := k.current()
	for range 3 { // others may change it again, for example label it
		requested := thisMoment()
		spec, err := leaseSpec(live)
		if err != nil {
			return "", err
		}
		next, err := k.update(ctx, live, renewedSpec(spec))
		switch {
		case err == nil:
			k.recordRenewal(requested, next)
			return "", nil
		case apierrors.IsForbidden(err):
			return fmt.Sprintf("it may no longer be renewed (%v)", err), nil
		case !apierrors.IsConflict(err) && !apierrors.IsNotFound(err):
			return "", err
		}
		if live, lost, err = k.readLease(ctx, requested); err != nil || lost != "" || live == nil {
			return lost, err
		}
	}
	return "", fmt.Errorf("the Lease %s keeps changing", k.id.Name)
}

// readLease reads a Lease that differs from this run's last write. The run
// still holds it unless another run is its holder; nil with no error where it
// does not exist and no other run can create it.
func (k *renewer) readLease(ctx context.Context, requested moment) (live *unstructured.Unstructured, lost string, err error) {
	lease, err := k.read(ctx)
	switch {
	case apierrors.IsNotFound(err):
		lost, err = k.handleMissingLease(ctx, requested)
		return nil, lost, err
	case err != nil:
		return nil, "", err
	case holderOf(lease.spec) == k.holder:
		return lease.live, "", nil
	}
	k.setLive(nil) // another run holds it: do not release it
	if holderOf(lease.spec) == "" {
		return nil, "another run took it and has ended since, or its holder was removed by hand", nil
	}
	return nil, fmt.Sprintf("%s took it %s ago", holderOf(lease.spec), age(timeOf(lease.spec.AcquireTime))), nil
}

// handleMissingLease handles a Lease that no longer exists. Where its Namespace is
// terminating or gone, no other run can create it; but one with the same set may then
// take the lock elsewhere, so that only a run that deletes the Namespace itself goes on.
func (k *renewer) handleMissingLease(ctx context.Context, requested moment) (lost string, err error) {
	if !k.isNamespaceGone(ctx) {
		k.setLive(nil)
		return "its Lease was deleted, by hand or by another run", nil
	}
	live, err := k.create(ctx)
	switch {
	case fault.IsNamespaceTerminating(err) || fault.MissingNamespace(err) != "":
		return k.withoutNamespace(ctx, requested)
	case err != nil && !isLostRace(err):
		return "", err
	}
	k.setLive(live) // nil where another run was first
	return "its Namespace was deleted and recreated", nil
}

// withoutNamespace decides whether the lock is still held without its Lease.
func (k *renewer) withoutNamespace(ctx context.Context, requested moment) (lost string, err error) {
	held := false
	if k.heldWithoutNamespace != nil {
		if held, err = k.heldWithoutNamespace(ctx); err != nil {
			return "", err
		}
	}
	if !held {
		k.setLive(nil)
		return fmt.Sprintf("namespace %q, which holds its Lease, is being deleted", k.id.Namespace), nil
	}
	k.recordRenewal(requested, k.current())
	return "", nil
}

// setLive records the Lease to release; nil: none.
func (k *renewer) setLive(live *unstructured.Unstructured) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.live = live
}

// release releases the Lease, if this run still holds it. If the API server
// does not answer in time, it expires.
func (k *renewer) release(ctx context.Context) {
	live := k.stop()
	k.cancel(context.Canceled)
	ctx, cancel := context.WithTimeout(ctx, k.lifetime/3)
	defer cancel()
	for range 3 { // a renewal whose answer was not awaited may have succeeded
		spec, err := leaseSpec(live)
		if live == nil || err != nil || holderOf(spec) != k.holder {
			return
		}
		if _, err = k.update(ctx, live, releasedSpec(spec)); !apierrors.IsConflict(err) {
			return
		}
		lease, err := k.read(ctx)
		if err != nil {
			return
		}
		live = lease.live
	}
}

// stop stops all requests under the lock and returns the Lease to release;
// nil when this run does not hold it.
func (k *renewer) stop() *unstructured.Unstructured {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.released = true
	k.notify()
	return k.live
}
