package state

import (
	"context"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/apply"
)

// keeper renews the Lease of a lock that is held, and is the fence of all that is
// written under it. A request passes while the Lease was renewed lately. When it
// was not, because the process was suspended or the API server did not answer,
// requests wait for the next renewal: one that gets through proves that no other
// run had the lock meanwhile, and the run goes on.
type keeper struct {
	leaseAccess
	lose func(error) // ends the run

	early chan struct{} // holds one when the Lease should be renewed at once

	mu      sync.Mutex
	live    *unstructured.Unstructured // as last written or read by us
	renewed moment                     // before the request that renewed it last was sent
	changed chan struct{}              // closed and replaced when the Lease was renewed or lost
	trouble error                      // of the last renewal, which did not get through
	lost    error                      // why the lock is lost; nil while it is not
	ended   bool                       // the lock was given back
}

// patience is how long a request waits for its lock to be renewed, as long as
// other requests are repeated when the API server does not answer.
const patience = 30 * time.Second

func newKeeper(lease leaseAccess, live *unstructured.Unstructured, taken moment, lose func(error)) *keeper {
	return &keeper{leaseAccess: lease, lose: lose, live: live, renewed: taken, early: make(chan struct{}, 1), changed: make(chan struct{})}
}

// pass is the fence.
func (k *keeper) pass(ctx context.Context) error {
	var late <-chan time.Time
	for {
		fresh, changed, err := k.standing()
		if err != nil || fresh {
			return err
		}
		select {
		case k.early <- struct{}{}:
		default:
		}
		if late == nil {
			late = time.After(patience)
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-late:
			k.end(k.unrenewed())
		}
	}
}

// standing reports whether the lock may be relied on now, and how to learn of a
// change; an error when it is lost.
func (k *keeper) standing() (fresh bool, changed <-chan struct{}, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case k.lost != nil:
		return false, nil, k.lost
	case k.ended:
		return false, nil, &LockLostError{Lease: k.id, How: "it had been given back when something was still to be written"}
	}
	return k.renewed.ago() < k.within(), k.changed, nil
}

// unrenewed says why the lock could not be renewed in time.
func (k *keeper) unrenewed() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	how := fmt.Sprintf("it could not be renewed for %s", k.renewed.ago().Round(time.Second))
	if k.trouble != nil {
		how += fmt.Sprintf(" (%v)", k.trouble)
	}
	return how
}

// end loses the lock: nothing passes from now on, and the run ends.
func (k *keeper) end(how string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.lost != nil || k.ended {
		return
	}
	k.lost = &LockLostError{Lease: k.id, How: how}
	k.lose(k.lost)
	k.notify()
}

// notify wakes the requests that wait; its caller holds the mutex.
func (k *keeper) notify() {
	close(k.changed)
	k.changed = make(chan struct{})
}

// run renews the Lease until ctx ends or the lock is lost.
func (k *keeper) run(ctx context.Context) {
	early, pause := k.early, k.retryPeriod()
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
		early, pause = k.early, k.retryPeriod()
		switch how, err := k.renew(ctx); {
		case how != "":
			k.end(how)
			return
		case err != nil && ctx.Err() == nil:
			k.failed(err)
			early, pause = nil, min(pause, time.Second)
		}
	}
}

// failed notes why a renewal did not get through.
func (k *keeper) failed(err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.trouble = err
}

// succeeded notes that the Lease is ours since a moment, as it is now.
func (k *keeper) succeeded(since moment, live *unstructured.Unstructured) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.renewed, k.live, k.trouble = since, live, nil
	k.notify()
}

func (k *keeper) current() *unstructured.Unstructured {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.live
}

// renew renews the Lease. It returns how the lock was lost, or an error when that
// is not known.
func (k *keeper) renew(ctx context.Context) (lost string, err error) {
	ctx, cancel := context.WithTimeout(ctx, k.lifetime/3)
	defer cancel()
	live := k.current()
	for range 3 { // an object that others label, say, may have changed again
		asked := thisMoment()
		spec, err := leaseSpec(live)
		if err != nil {
			return "", err
		}
		next, err := k.update(ctx, live, renewed(spec))
		switch {
		case err == nil:
			k.succeeded(asked, next)
			return "", nil
		case apierrors.IsForbidden(err):
			return fmt.Sprintf("it may no longer be renewed (%v)", err), nil
		case !apierrors.IsConflict(err) && !apierrors.IsNotFound(err):
			return "", err
		}
		if live, lost, err = k.look(ctx, asked); err != nil || lost != "" || live == nil {
			return lost, err
		}
	}
	return "", fmt.Errorf("the Lease %s changes all the time", k.id.Name)
}

// look reads a Lease that is not as this run left it. It is still ours where no
// other run wrote itself into it; nil with no error where there is none and no
// other run can have one.
func (k *keeper) look(ctx context.Context, asked moment) (live *unstructured.Unstructured, lost string, err error) {
	live, spec, err := k.read(ctx)
	switch {
	case apierrors.IsNotFound(err):
		lost, err = k.gone(ctx, asked)
		return nil, lost, err
	case err != nil:
		return nil, "", err
	case holderOf(spec) == k.holder:
		return live, "", nil
	}
	k.keep(nil) // it is not ours to give back
	if holderOf(spec) == "" {
		return nil, "another run took it and has ended since, or its holder was removed by hand", nil
	}
	return nil, fmt.Sprintf("%s took it %s ago", holderOf(spec), age(timeOf(spec.AcquireTime))), nil
}

// gone finds out about a Lease that is not there any more. Where its Namespace is
// being deleted no other run can have one, and a run that deletes the Namespace
// itself goes on.
func (k *keeper) gone(ctx context.Context, asked moment) (lost string, err error) {
	if !goingOrGone(ctx, k.cluster, k.id.Namespace) {
		k.keep(nil)
		return "its Lease was deleted, by hand or by another run", nil
	}
	live, err := k.create(ctx)
	switch {
	case isGoing(err) || missingNamespace(err) != "":
		k.succeeded(asked, k.current())
		return "", nil
	case err != nil && !lostRace(err):
		return "", err
	}
	k.keep(live) // none, where another run was faster
	return "its Namespace was deleted and created again", nil
}

// keep remembers the Lease that is to be given back; nil: none is.
func (k *keeper) keep(live *unstructured.Unstructured) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.live = live
}

// giveBack frees the Lease, if it is still ours. What the API server does not take
// in time expires.
func (k *keeper) giveBack(ctx context.Context) {
	live := k.finish()
	k.lose(context.Canceled)
	ctx, cancel := context.WithTimeout(apply.OnOwnConnection(ctx), k.lifetime/3)
	defer cancel()
	for range 3 { // a renewal whose answer was not awaited may have got through
		spec, err := leaseSpec(live)
		if live == nil || err != nil || holderOf(spec) != k.holder {
			return
		}
		if _, err = k.update(ctx, live, free(spec)); !apierrors.IsConflict(err) {
			return
		}
		if live, _, err = k.read(ctx); err != nil {
			return
		}
	}
}

// finish lets nothing pass any more, and is the Lease to give back; nil when it is
// not ours.
func (k *keeper) finish() *unstructured.Unstructured {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.ended = true
	k.notify()
	return k.live
}
