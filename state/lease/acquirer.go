package lease

import (
	"context"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/internal/activity"
	"github.com/ordapply/ordapply/internal/kube/fault"
)

// acquirer acquires a lock, and waits for another holder up to a limit.
type acquirer struct {
	access
	ahead   func() (reading, error) // waits for the first reading of the Lease; nil: it has not begun
	wait    time.Duration
	waiting func(*HeldError)

	waitingSince time.Time                // since when another holder is waited for; zero: there is none
	lastSpec     coordinationv1.LeaseSpec // the Lease as it was read last
	lastChange   time.Time                // when this state was first read: an unchanged Lease expires by this process's own clock
}

// acquire returns the Lease once this run holds it, and the moment before the
// request that took it.
func (c *acquirer) acquire(ctx context.Context) (*unstructured.Unstructured, moment, error) {
	began := time.Now()
	ctx, done := activity.Start(ctx, "waiting for the lock of the apply set")
	defer done()
	for {
		limit := began.Add(readTimeout)
		if !c.waitingSince.IsZero() {
			limit = c.waitingSince.Add(c.wait)
		}
		asking, cancel := context.WithDeadline(ctx, limit)
		requested := thisMoment()
		live, err := c.tryAcquire(asking)
		cancel()
		switch {
		case ctx.Err() != nil && live == nil:
			return nil, moment{}, context.Cause(ctx)
		case live != nil:
			return live, requested, nil
		case err != nil && isPermanent(err):
			return nil, moment{}, fmt.Errorf("lock %s: %w", c.id, err)
		case isLostRace(err): // it is read again at once, and names the winner
			continue
		}
		if c.isBusy() && c.waitingSince.IsZero() {
			c.waitingSince = time.Now()
			_, waited := activity.Start(ctx, "waiting for the lock of the apply set, held by "+process(holderOf(c.lastSpec))+" since "+clockTime(timeOf(c.lastSpec.AcquireTime)))
			defer waited()
			limit = c.waitingSince.Add(c.wait)
			if c.wait > 0 && c.waiting != nil {
				c.waiting(c.heldError(0))
			}
		}
		left := time.Until(limit)
		if left <= 0 {
			return nil, moment{}, c.acquireError(err)
		}
		select {
		case <-time.After(min(left, c.nextRead())):
		case <-ctx.Done():
			return nil, moment{}, context.Cause(ctx)
		}
	}
}

// tryAcquire reads the Lease, and takes it if it is free; nil without an error while
// another run holds it.
func (c *acquirer) tryAcquire(ctx context.Context) (*unstructured.Unstructured, error) {
	lease, err := c.readNext(ctx)
	if apierrors.IsNotFound(err) && fault.MissingNamespace(err) == "" {
		return c.create(ctx)
	}
	if err != nil {
		return nil, err
	}
	c.observe(lease.spec)
	if c.isBusy() && time.Since(c.lastChange) < durationOf(lease.spec, c.lifetime) {
		return nil, nil
	}
	return c.update(ctx, lease.live, c.acquiredSpec(lease.spec))
}

// readNext reads the Lease, unless it was free when it was read ahead: if it is not any more, the write
// that follows fails. A holder that was seen then may have ended by now.
func (c *acquirer) readNext(ctx context.Context) (reading, error) {
	ahead := c.ahead
	if c.ahead = nil; ahead != nil {
		if lease, err := ahead(); apierrors.IsNotFound(err) || err == nil && holderOf(lease.spec) == "" {
			return lease, err
		}
	}
	return c.read(ctx)
}

// observe records since when a Lease is unchanged.
func (c *acquirer) observe(now coordinationv1.LeaseSpec) {
	same := holderOf(now) == holderOf(c.lastSpec) && timeOf(now.RenewTime).Equal(timeOf(c.lastSpec.RenewTime)) && timeOf(now.AcquireTime).Equal(timeOf(c.lastSpec.AcquireTime))
	if !same || c.lastChange.IsZero() {
		c.lastChange = time.Now()
	}
	c.lastSpec = now
}

func (c *acquirer) isBusy() bool { return holderOf(c.lastSpec) != "" }

// nextRead returns the time until the Lease should be read again.
func (c *acquirer) nextRead() time.Duration {
	if !c.isBusy() {
		return c.retryPeriod()
	}
	expires := time.Until(c.lastChange.Add(durationOf(c.lastSpec, c.lifetime)))
	return max(min(expires, c.retryPeriod()), 50*time.Millisecond)
}

func (c *acquirer) heldError(waited time.Duration) *HeldError {
	return &HeldError{Lease: c.id, Holder: holderOf(c.lastSpec), Since: timeOf(c.lastSpec.AcquireTime), Renewed: timeOf(c.lastSpec.RenewTime), Waited: waited}
}

// acquireError returns why the lock could not be taken.
func (c *acquirer) acquireError(err error) error {
	switch {
	case c.isBusy():
		return c.heldError(max(c.wait, 0))
	case err == nil:
		return fmt.Errorf("lock %s: the API server did not answer within %s", c.id, readTimeout)
	}
	return fmt.Errorf("lock %s: %w", c.id, err)
}
