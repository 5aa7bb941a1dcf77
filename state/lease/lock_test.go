package lease

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/test/memcluster"
)

// connection is one client's connection to a store that several clients use; it breaks
// when down is closed.
type connection struct {
	*memcluster.Store
	down chan struct{}
}

func (c connection) Get(ctx context.Context, kind kube.Kind, namespace, name string) (*unstructured.Unstructured, error) {
	if c.broken() {
		return nil, apierrors.NewServiceUnavailable("cut off")
	}
	return c.Store.Get(ctx, kind, namespace, name)
}

func (c connection) Update(ctx context.Context, kind kube.Kind, lease *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	if c.broken() {
		return nil, apierrors.NewServiceUnavailable("cut off")
	}
	return c.Store.Update(ctx, kind, lease)
}

func (c connection) broken() bool {
	select {
	case <-c.down:
		return true
	default:
		return false
	}
}

func lockOf(cluster Cluster, holder string) Lock {
	set := object.ID{Kind: "Secret", Namespace: "shop", Name: "shop"}
	return Lock{Cluster: cluster, Lease: Of(set, "shop"), Holder: holder}
}

// theLease is the key of the Lease in a store.
const theLease = "leases.coordination.k8s.io/shop/ordapply.secret.shop"

// A run that takes longer than its Lease renews it: another run waits without
// success, and its error has the holder and how long it waited.
func TestLockIsRenewed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := memcluster.New()
		held, _, release, err := lockOf(cluster, "ann").Acquire(t.Context(), 0)
		require.NoError(t, err)
		_, _, _, err = lockOf(cluster, "bob").Acquire(t.Context(), 0)
		var waited, reported *HeldError
		require.ErrorAs(t, err, &waited)
		require.Equal(t, "ann", waited.Holder)
		bob := lockOf(cluster, "bob")
		bob.OnWaiting = func(e *HeldError) { reported = e }
		_, _, _, err = bob.Acquire(t.Context(), 10*time.Minute)
		require.ErrorAs(t, err, &waited)
		require.Equal(t, 10*time.Minute, waited.Waited.Round(time.Second))
		require.Equal(t, "ann", reported.Holder)
		require.NoError(t, held.Err())
		release()
		require.ErrorIs(t, context.Cause(held), context.Canceled)
	})
}

// reads counts the reads of a Lease.
type reads struct {
	*memcluster.Store
	n int
}

func (r *reads) Get(ctx context.Context, kind kube.Kind, namespace, name string) (*unstructured.Unstructured, error) {
	r.n++
	return r.Store.Get(ctx, kind, namespace, name)
}

// A Lease that was read ahead is not read again, unless another run took it in between: then that
// run has the lock.
func TestALeaseReadAhead(t *testing.T) {
	acquire := func(t *testing.T, lock Lock) (release func(), err error) {
		_, _, release, err = lock.Acquire(t.Context(), 0)
		return release, err
	}
	for name, exists := range map[string]bool{"a new Lease": false, "a free Lease": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cluster := memcluster.New()
				if exists {
					release, err := acquire(t, lockOf(cluster, "eve"))
					require.NoError(t, err)
					release()
				}
				counted := &reads{Store: cluster}
				ahead := lockOf(counted, "bob").ReadAhead(t.Context())
				synctest.Wait()
				release, err := acquire(t, ahead)
				require.NoError(t, err)
				require.Equal(t, 1, counted.n)
				release()

				if !exists {
					cluster.Drop(theLease)
				}
				late := lockOf(counted, "bob").ReadAhead(t.Context())
				synctest.Wait()
				release, err = acquire(t, lockOf(cluster, "ann"))
				require.NoError(t, err)
				_, err = acquire(t, late)
				var held *HeldError
				require.ErrorAs(t, err, &held)
				require.Equal(t, "ann", held.Holder)

				late = lockOf(counted, "bob").ReadAhead(t.Context())
				synctest.Wait()
				release()
				release, err = acquire(t, late)
				require.NoError(t, err, "ann has ended since it was read ahead")
				release()
			})
		})
	}
}

// A Lease whose times are in the future, by a wrong clock or a forger, does not look as if its
// holder were alive.
func TestALeaseOfTheFuture(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		held := HeldError{Holder: "ann", Since: time.Now().Add(-time.Hour), Renewed: time.Now().Add(-3 * time.Second)}
		require.Contains(t, held.Error(), "ann, for 1h0m0s (renewed 3s ago)")
		held.Renewed = time.Now().Add(30 * time.Second)
		require.Contains(t, held.Error(), "(renewed 0s ago)", "clocks differ a little")
		held.Renewed = time.Date(2099, 1, 2, 3, 4, 5, 0, time.UTC)
		require.Contains(t, held.Error(), "(renewed at 2099-01-02T03:04:05Z, which is in the future: a clock is wrong, or no run wrote the Lease)")
	})
}

// Who may write the Lease chooses its holder: the message stays short, and one line.
func TestAHolderOfAnyText(t *testing.T) {
	held := HeldError{Holder: "\x1b[2Jann\nerror: forged\u202e " + strings.Repeat("long ", 10_000) + startedAt + "2026", Since: time.Now()}
	for _, text := range []string{held.Who(), held.Error()} {
		require.Less(t, len(text), holderWidth+300)
		require.Equal(t, plain.Line(text), text)
		require.Contains(t, text, "[2Jann error: forged long long")
	}
	ours := HeldError{Holder: thisRun(), Since: time.Now()}
	require.NotContains(t, ours.Who(), "…")
}

// refusing is a cluster whose policies refuse Leases.
type refusing struct{ Cluster }

func (refusing) Create(context.Context, kube.Kind, *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	return nil, apierrors.NewInvalid(schema.GroupKind{Kind: "Lease"}, "shop", nil)
}

// A policy that refuses the Lease is reported at once.
func TestARefusedLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		_, _, _, err := lockOf(refusing{memcluster.New()}, "ann").Acquire(t.Context(), time.Minute)
		require.True(t, apierrors.IsInvalid(err), err)
		require.Zero(t, time.Since(began))
	})
}

// A waiting run gets the lock soon after it was released, and not before.
func TestLockIsReleased(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := memcluster.New()
		_, _, release, err := lockOf(cluster, "ann").Acquire(t.Context(), 0)
		require.NoError(t, err)
		var given time.Time
		time.AfterFunc(time.Minute, func() { given = time.Now(); release() })
		_, _, release, err = lockOf(cluster, "bob").Acquire(t.Context(), 10*time.Minute)
		require.NoError(t, err)
		require.False(t, given.IsZero(), "while another had it")
		require.Less(t, time.Since(given), 15*time.Second)
		release()
	})
}

// A holder that can no longer renew its Lease writes nothing from the time
// when another run may have the lock.
func TestNothingIsWrittenWhenAnotherHasTheLock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster, down := memcluster.New(), make(chan struct{})
		held, fence, release, err := lockOf(connection{cluster, down}, "ann").Acquire(t.Context(), 0)
		require.NoError(t, err)
		defer release()
		time.AfterFunc(time.Minute, func() { close(down) })
		var passed time.Time // the last time that ann could have written
		go func() {
			for fence(t.Context()) == nil {
				passed = time.Now()
				time.Sleep(10 * time.Millisecond)
			}
		}()
		_, _, releaseBob, err := lockOf(cluster, "bob").Acquire(t.Context(), 10*time.Minute)
		require.NoError(t, err)
		taken := time.Now()
		<-held.Done()
		releaseBob()
		require.Greater(t, taken.Sub(passed), 4*time.Second, "what was sent last has that long to arrive")
		require.ErrorIs(t, context.Cause(held), ErrLost)
		require.ErrorIs(t, fence(t.Context()), ErrLost)
		require.ErrorContains(t, context.Cause(held), "(cut off)")
	})
}

// A holder that was cut off while it had nothing to write continues when it
// can renew its Lease again, and no other run took it.
func TestALockThatNoOtherRunTookIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var away bool
		cluster := memcluster.New()
		cluster.Refuse = func(string, kube.Kind, string, string) error {
			mu.Lock()
			defer mu.Unlock()
			if away {
				return apierrors.NewServiceUnavailable("cut off")
			}
			return nil
		}
		cutOff := func(now bool) { mu.Lock(); defer mu.Unlock(); away = now }
		held, fence, release, err := lockOf(cluster, "ann").Acquire(t.Context(), 0)
		require.NoError(t, err)
		time.Sleep(time.Minute)
		cutOff(true)
		time.Sleep(5 * time.Minute)
		require.NoError(t, held.Err(), "it has nothing to write")
		time.AfterFunc(20*time.Second, func() { cutOff(false) })
		begin := time.Now()
		require.NoError(t, fence(t.Context()))
		require.GreaterOrEqual(t, time.Since(begin), 20*time.Second, "it wrote before the Lease was renewed")
		release()
		require.ErrorContains(t, fence(t.Context()), "it was released")
		_, _, releaseBob, err := lockOf(cluster, "bob").Acquire(t.Context(), 0)
		require.NoError(t, err, "the lock was released")
		releaseBob()
	})
}

// However another run got the lock, the first one writes nothing more and
// reports the loss. It does not take the lock back.
func TestWaysToLoseALock(t *testing.T) {
	bob := func(t *testing.T, cluster *memcluster.Store, holder string) {
		live := cluster.At(theLease)
		require.NoError(t, unstructured.SetNestedField(live.Object, holder, "spec", "holderIdentity"))
		cluster.Add(Kind(), live)
	}
	for name, c := range map[string]struct {
		happens func(t *testing.T, cluster *memcluster.Store)
		says    string
	}{
		"deleted":      {func(_ *testing.T, cluster *memcluster.Store) { cluster.Drop(theLease) }, "its Lease was deleted, by hand or by another run"},
		"stolen":       {func(t *testing.T, cluster *memcluster.Store) { bob(t, cluster, "bob") }, "bob took it "},
		"taken, freed": {func(t *testing.T, cluster *memcluster.Store) { bob(t, cluster, "") }, "another run took it and has ended since"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cluster := memcluster.New()
				namespace := &unstructured.Unstructured{}
				namespace.SetName("shop")
				cluster.Add(kube.NamespaceKind(), namespace)
				held, fence, release, err := lockOf(cluster, "ann").Acquire(t.Context(), 0)
				require.NoError(t, err)
				require.NoError(t, fence(t.Context()))
				c.happens(t, cluster)
				<-held.Done()
				after := cluster.At(theLease)
				require.ErrorIs(t, context.Cause(held), kube.ErrFenced)
				require.ErrorContains(t, fence(t.Context()), c.says)
				release()
				require.Equal(t, after, cluster.At(theLease))
			})
		})
	}
}

// withoutNamespace is a cluster in which the Namespace of the Lease is gone.
type withoutNamespace struct{ *memcluster.Store }

func (withoutNamespace) Create(context.Context, kube.Kind, *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "shop")
}

// A run loses the lock when its Lease was deleted with its Namespace: another run may take
// the lock of the set in another namespace. A run that deletes the Namespace itself goes
// on, until another one has done that.
func TestALeaseThatWentWithItsNamespace(t *testing.T) {
	for name, c := range map[string]struct {
		held func(context.Context) (bool, error)
		lost bool
	}{
		"of any run":                             {nil, true},
		"of a run that deletes it":               {func(context.Context) (bool, error) { return true, nil }, false},
		"and a home was claimed in the meantime": {func(context.Context) (bool, error) { return false, nil }, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cluster := memcluster.New()
				lock := lockOf(cluster, "ann")
				_, _, release, err := lock.Acquire(t.Context(), 0)
				require.NoError(t, err)
				release()
				lock.Cluster, lock.HeldWithoutNamespace = withoutNamespace{cluster}, c.held
				held, fence, release, err := lock.Acquire(t.Context(), 0)
				require.NoError(t, err)
				defer release()
				cluster.Drop(theLease)
				time.Sleep(time.Minute)
				if c.lost {
					require.ErrorIs(t, context.Cause(held), ErrLost)
					require.ErrorContains(t, fence(t.Context()), `namespace "shop", which holds its Lease, is being deleted`)
					return
				}
				require.NoError(t, fence(t.Context()))
			})
		})
	}
}

// Labels that other programs put on the Lease do not cost the lock.
func TestALabelledLeaseIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := memcluster.New()
		held, _, release, err := lockOf(cluster, "ann").Acquire(t.Context(), 0)
		require.NoError(t, err)
		defer release()
		live := cluster.At(theLease)
		live.SetLabels(map[string]string{"team": "shop"})
		cluster.Add(Kind(), live)
		time.Sleep(time.Minute)
		require.NoError(t, held.Err())
		require.Equal(t, "shop", cluster.At(theLease).GetLabels()["team"])
	})
}

// The fence's clock includes the time in which a process is suspended.
func TestSuspensionCountsAsElapsedTime(t *testing.T) {
	then := thisMoment()
	then.boot -= time.Hour // as if the machine had slept: its monotonic clock was stopped
	if then.boot+time.Hour > 0 {
		require.GreaterOrEqual(t, then.ago(), time.Hour)
	}
	then = thisMoment()
	then.monotonic = then.monotonic.Round(0).Add(-time.Hour) // no monotonic clock at all
	require.GreaterOrEqual(t, then.ago(), time.Hour)
}

// A lock that was broken by hand and taken by another run is lost at the next
// renewal.
func TestBrokenLockIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := memcluster.New()
		held, _, release, err := lockOf(cluster, "ann").Acquire(t.Context(), 0)
		require.NoError(t, err)
		defer release()
		synctest.Wait() // until it was renewed for the first time
		cluster.Drop(theLease)
		_, _, releaseBob, err := lockOf(cluster, "bob").Acquire(t.Context(), 0)
		require.NoError(t, err)
		defer releaseBob()
		broken := time.Now()
		<-held.Done()
		require.ErrorIs(t, context.Cause(held), ErrLost)
		require.Less(t, time.Since(broken), 5*time.Second)
	})
}

// The deletion of a set deletes its Lease too, unless another run was waiting
// for it and holds it now.
func TestOnlyAFreeLeaseIsDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := memcluster.New()
		_, _, release, err := lockOf(cluster, "ann").Acquire(t.Context(), 0)
		require.NoError(t, err)
		require.NoError(t, lockOf(cluster, "").Drop(t.Context()))
		require.NotNil(t, cluster.At(theLease))
		release()
		require.NoError(t, lockOf(cluster, "").Drop(t.Context()))
		require.Nil(t, cluster.At(theLease))
	})
}
