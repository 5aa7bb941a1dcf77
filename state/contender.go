package state

import (
	"context"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/internal/activity"
)

// contender takes a lock, and waits for another holder as long as it may.
type contender struct {
	leaseAccess
	wait    time.Duration
	waiting func(*HeldError)

	busy time.Time                // since when another holder is waited for; zero: it is not
	seen coordinationv1.LeaseSpec // the Lease as it was read last
	when time.Time                // when it was first read as it is: an unchanged Lease expires by this process's own clock
}

// take returns the Lease when it is ours, and the moment before it was.
func (c *contender) take(ctx context.Context) (*unstructured.Unstructured, moment, error) {
	began := time.Now()
	ctx, done := activity.Start(ctx, "waiting for the lock of the apply set")
	defer done()
	for {
		limit := began.Add(firstLook)
		if !c.busy.IsZero() {
			limit = c.busy.Add(c.wait)
		}
		asking, cancel := context.WithDeadline(ctx, limit)
		asked := thisMoment()
		live, err := c.try(asking)
		cancel()
		switch {
		case ctx.Err() != nil && live == nil:
			return nil, moment{}, context.Cause(ctx)
		case live != nil:
			return live, asked, nil
		case err != nil && refusedForGood(err):
			return nil, moment{}, fmt.Errorf("lock %s: %w", c.id, err)
		case lostRace(err): // it is read again at once, and says who won
			continue
		}
		if c.isBusy() && c.busy.IsZero() {
			c.busy = time.Now()
			_, waited := activity.Start(ctx, "waiting for the lock of the apply set, which another run has: "+holderOf(c.seen))
			defer waited()
			limit = c.busy.Add(c.wait)
			if c.wait > 0 && c.waiting != nil {
				c.waiting(c.held(0))
			}
		}
		left := time.Until(limit)
		if left <= 0 {
			return nil, moment{}, c.failure(err)
		}
		select {
		case <-time.After(min(left, c.pause())):
		case <-ctx.Done():
			return nil, moment{}, context.Cause(ctx)
		}
	}
}

// try looks at the Lease, and takes it if it may; nil without an error while
// another run holds it.
func (c *contender) try(ctx context.Context) (*unstructured.Unstructured, error) {
	live, spec, err := c.read(ctx)
	if apierrors.IsNotFound(err) && missingNamespace(err) == "" {
		return c.create(ctx)
	}
	if err != nil {
		return nil, err
	}
	c.note(spec)
	if c.isBusy() && time.Since(c.when) < lifetimeOf(spec, c.lifetime) {
		return nil, nil
	}
	return c.update(ctx, live, c.taken(spec))
}

// note remembers since when a Lease is as it is.
func (c *contender) note(now coordinationv1.LeaseSpec) {
	same := holderOf(now) == holderOf(c.seen) && timeOf(now.RenewTime).Equal(timeOf(c.seen.RenewTime)) && timeOf(now.AcquireTime).Equal(timeOf(c.seen.AcquireTime))
	if !same || c.when.IsZero() {
		c.when = time.Now()
	}
	c.seen = now
}

func (c *contender) isBusy() bool { return holderOf(c.seen) != "" }

// pause is until the Lease should be looked at again.
func (c *contender) pause() time.Duration {
	if !c.isBusy() {
		return c.retryPeriod()
	}
	expires := time.Until(c.when.Add(lifetimeOf(c.seen, c.lifetime)))
	return max(min(expires, c.retryPeriod()), 50*time.Millisecond)
}

// lostRace recognises that another run was faster.
func lostRace(err error) bool { return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) }

func (c *contender) held(waited time.Duration) *HeldError {
	return &HeldError{Lease: c.id, Holder: holderOf(c.seen), Since: timeOf(c.seen.AcquireTime), Seen: timeOf(c.seen.RenewTime), Waited: waited}
}

// failure is why there is no lock yet.
func (c *contender) failure(err error) error {
	switch {
	case c.isBusy():
		return c.held(max(c.wait, 0))
	case err == nil:
		return fmt.Errorf("lock %s: the API server did not answer within %s", c.id, firstLook)
	}
	return fmt.Errorf("lock %s: %w", c.id, err)
}
