package state

import (
	"cmp"
	"context"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/internal/activity"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/state/history"
	"github.com/ordapply/ordapply/state/lease"
	"github.com/ordapply/ordapply/state/set"
)

// SetRef names an apply set on a cluster, which need not exist, and the place of
// its records.
type SetRef struct {
	Cluster kube.Cluster            // required
	Parent  object.ID               // required: the parent object of the set
	Kind    schema.GroupVersionKind // of the parent
	// Namespace is where the Lease and the history are; default the parent's.
	Namespace string
	// NewHome replaces Namespace when the parent is cluster-scoped and Namespace does not
	// exist any more; "" for an error then.
	NewHome string
	// LockTimeout bounds the wait for another run to end; default 0.
	LockTimeout time.Duration
	// OnWaiting is called once when another run is waited for; optional.
	OnWaiting func(*lease.HeldError)
}

func (s SetRef) withDefaults() SetRef {
	s.Namespace = cmp.Or(s.Namespace, s.Parent.Namespace)
	return s
}

// open reads the parent of the set.
func (s SetRef) open(ctx context.Context, takeOver bool) (*set.Set, error) {
	return set.Open(ctx, s.Cluster, s.Kind, s.Parent, takeOver)
}

// Ahead is what a run reads before its lock, see Run.Ahead.
type Ahead struct {
	set  func() (*set.Set, error)
	lock lease.Lock
}

// ReadAhead starts to read the parent and the Lease of the set for a run that follows soon.
func (s SetRef) ReadAhead(ctx context.Context, takeOver bool) *Ahead {
	s = s.withDefaults()
	parent := activity.InBackground(func() (*set.Set, error) { return s.open(ctx, takeOver) })
	return &Ahead{parent, s.lock().ReadAhead(ctx)}
}

// lock returns the lock of the set.
func (s SetRef) lock() lease.Lock {
	return lease.Lock{Cluster: s.Cluster.WithOwnConnection(), Lease: lease.Of(s.Parent, s.Namespace), OnWaiting: s.OnWaiting}
}

// acquire takes the lock of the set. From then on the cluster of s writes only while the
// lock is held.
func (s *SetRef) acquire(ctx context.Context) (held context.Context, release func(), err error) {
	held, fence, release, err := s.lock().Acquire(ctx, s.LockTimeout)
	if err == nil {
		s.Cluster = s.Cluster.Fenced(fence)
	}
	return held, release, err
}

// records returns the history of the set, without what its parent says about that.
func (s SetRef) records() history.History {
	return history.History{Cluster: s.Cluster, Parent: applyset.Parent{ID: s.Parent}, Namespace: s.Namespace}
}

// history returns the history of the set, as it was opened.
func (s SetRef) history(set *set.Set) history.History {
	h := s.records()
	h.Vouchers = set.Vouchers()
	return h
}
