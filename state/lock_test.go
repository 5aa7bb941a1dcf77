package state

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/apply"
)

// cut is a way to a store that breaks when down is closed.
type cut struct {
	*store
	down chan struct{}
}

func (c cut) Get(ctx context.Context, kind apply.Kind, namespace, name string) (*unstructured.Unstructured, error) {
	if c.broken() {
		return nil, apierrors.NewServiceUnavailable("cut off")
	}
	return c.store.Get(ctx, kind, namespace, name)
}

func (c cut) Update(ctx context.Context, kind apply.Kind, lease *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	if c.broken() {
		return nil, apierrors.NewServiceUnavailable("cut off")
	}
	return c.store.Update(ctx, kind, lease)
}

func (c cut) broken() bool {
	select {
	case <-c.down:
		return true
	default:
		return false
	}
}

func lockOf(cluster Cluster, holder string) Lock {
	return Lock{Cluster: cluster, Lease: LeaseOf(shopSet, "shop"), Holder: holder}
}

// theLease is where a store keeps it.
const theLease = "leases.coordination.k8s.io/shop/ordapply.secret.shop"

// A run that is longer than its Lease renews it: whoever waits does so in vain,
// and is told who has it and how long it waited.
func TestLockIsRenewed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := newStore()
		held, release, err := lockOf(cluster, "ann").Acquire(t.Context(), 0)
		require.NoError(t, err)
		_, _, err = lockOf(cluster, "bob").Acquire(t.Context(), 0)
		require.ErrorContains(t, err, "another run has the lock: ann, since ")
		var told *HeldError
		bob := lockOf(cluster, "bob")
		bob.Waiting = func(e *HeldError) { told = e }
		_, _, err = bob.Acquire(t.Context(), 10*time.Minute)
		require.ErrorContains(t, err, "; waited 10m0s. ")
		require.Equal(t, "ann", told.Holder)
		require.NoError(t, held.Err())
		release()
		require.ErrorIs(t, context.Cause(held), context.Canceled)
	})
}

// Who waits has the lock soon after it was given back, and not before.
func TestLockIsGivenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := newStore()
		_, release, err := lockOf(cluster, "ann").Acquire(t.Context(), 0)
		require.NoError(t, err)
		var given time.Time
		time.AfterFunc(time.Minute, func() { given = time.Now(); release() })
		_, release, err = lockOf(cluster, "bob").Acquire(t.Context(), 10*time.Minute)
		require.NoError(t, err)
		require.False(t, given.IsZero(), "while another had it")
		require.Less(t, time.Since(given), 15*time.Second)
		release()
	})
}

// A holder that can no longer renew its Lease stops before anybody else begins.
func TestLockIsLostBeforeAnotherHasIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster, down := newStore(), make(chan struct{})
		held, release, err := lockOf(cut{cluster, down}, "ann").Acquire(t.Context(), 0)
		require.NoError(t, err)
		defer release()
		time.AfterFunc(time.Minute, func() { close(down) })
		_, releaseBob, err := lockOf(cluster, "bob").Acquire(t.Context(), 10*time.Minute)
		require.NoError(t, err)
		defer releaseBob()
		require.ErrorIs(t, context.Cause(held), ErrLockLost)
	})
}

// A lock that somebody broke, and another took, is lost at the next look.
func TestBrokenLockIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := newStore()
		held, release, err := lockOf(cluster, "ann").Acquire(t.Context(), 0)
		require.NoError(t, err)
		defer release()
		synctest.Wait() // until it was renewed for the first time
		cluster.drop(theLease)
		_, releaseBob, err := lockOf(cluster, "bob").Acquire(t.Context(), 0)
		require.NoError(t, err)
		defer releaseBob()
		broken := time.Now()
		<-held.Done()
		require.ErrorIs(t, context.Cause(held), ErrLockLost)
		require.Less(t, time.Since(broken), 5*time.Second)
	})
}

// Who has deleted a set takes its Lease along, unless another run was waiting
// for it and has it now.
func TestOnlyAFreeLeaseIsDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := newStore()
		_, release, err := lockOf(cluster, "ann").Acquire(t.Context(), 0)
		require.NoError(t, err)
		require.NoError(t, Dissolution{Cluster: cluster, Parent: shopSet, Namespace: "shop"}.dropLease(t.Context()))
		require.NotNil(t, cluster.at(theLease))
		release()
		require.NoError(t, Dissolution{Cluster: cluster, Parent: shopSet, Namespace: "shop"}.dropLease(t.Context()))
		require.Nil(t, cluster.at(theLease))
	})
}
