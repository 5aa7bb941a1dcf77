package lease

import (
	"cmp"
	"context"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/ordapply/ordapply/internal/kube/fault"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
)

// Cluster is the set of API server calls that a lock needs.
type Cluster interface {
	Get(ctx context.Context, kind kube.Kind, namespace, name string) (*unstructured.Unstructured, error)
	// Create creates an object; AlreadyExists when there is one of its name.
	Create(context.Context, kube.Kind, *unstructured.Unstructured) (*unstructured.Unstructured, error)
	// Update replaces an object; a conflict when its resourceVersion has
	// changed since it was read.
	Update(context.Context, kube.Kind, *unstructured.Unstructured) (*unstructured.Unstructured, error)
	Delete(ctx context.Context, kind kube.Kind, live *unstructured.Unstructured, options kube.DeleteOptions) error
}

// access reads and writes the Lease of a lock, in the way of client-go's
// leader election, so that other versions and tools understand it. Each write
// has the resourceVersion of the previous read or write as precondition and
// fails when anything else was written since: a renewal that succeeds proves
// that no other run had the lock in between.
type access struct {
	cluster  Cluster
	id       object.ID
	holder   string
	lifetime time.Duration
}

// Kind is the kind of Leases.
func Kind() kube.Kind {
	return kube.Kind{Resource: coordinationv1.SchemeGroupVersion.WithResource("leases"), Namespaced: true}
}

// retryPeriod is the interval of renewing a Lease, and of reading one that
// another run holds.
func (l access) retryPeriod() time.Duration { return l.lifetime / 5 }

// validity is how long after its last renewal a Lease permits requests. Another
// run may take it after its whole lifetime: the difference is for requests in
// flight.
func (l access) validity() time.Duration { return l.lifetime * 2 / 3 }

// reading is a Lease as it was read.
type reading struct {
	live *unstructured.Unstructured
	spec coordinationv1.LeaseSpec
}

// read reads the Lease.
func (l access) read(ctx context.Context) (reading, error) {
	live, err := l.cluster.Get(ctx, Kind(), l.id.Namespace, l.id.Name)
	if err != nil {
		return reading{}, err
	}
	spec, err := leaseSpec(live)
	return reading{live, spec}, err
}

func leaseSpec(live *unstructured.Unstructured) (coordinationv1.LeaseSpec, error) {
	lease := coordinationv1.Lease{}
	if live == nil {
		return lease.Spec, nil
	}
	err := runtime.DefaultUnstructuredConverter.FromUnstructured(live.Object, &lease)
	return lease.Spec, err
}

// create creates the Lease with this run as its holder.
func (l access) create(ctx context.Context) (*unstructured.Unstructured, error) {
	lease, err := l.written(&unstructured.Unstructured{}, l.acquiredSpec(coordinationv1.LeaseSpec{}))
	if err != nil {
		return nil, err
	}
	return l.cluster.Create(ctx, Kind(), lease)
}

// update replaces the spec of the Lease.
func (l access) update(ctx context.Context, before *unstructured.Unstructured, spec coordinationv1.LeaseSpec) (*unstructured.Unstructured, error) {
	lease, err := l.written(before.DeepCopy(), spec)
	if err != nil {
		return nil, err
	}
	return l.cluster.Update(ctx, Kind(), lease)
}

// acquiredSpec returns the spec of a Lease that this run takes.
func (l access) acquiredSpec(before coordinationv1.LeaseSpec) coordinationv1.LeaseSpec {
	now, turns := metav1.NowMicro(), int32(0)
	if before.LeaseTransitions != nil {
		turns = *before.LeaseTransitions + 1
	}
	seconds := int32((l.lifetime + time.Second - 1) / time.Second)
	return coordinationv1.LeaseSpec{HolderIdentity: &l.holder, LeaseDurationSeconds: &seconds, AcquireTime: &now, RenewTime: &now, LeaseTransitions: &turns}
}

// renewedSpec returns the spec of a Lease that this run renews.
func renewedSpec(before coordinationv1.LeaseSpec) coordinationv1.LeaseSpec {
	now := metav1.NowMicro()
	before.RenewTime = &now
	return before
}

// releasedSpec returns the spec of a Lease that this run releases.
func releasedSpec(before coordinationv1.LeaseSpec) coordinationv1.LeaseSpec {
	before = renewedSpec(before)
	holder, seconds := "", int32(1)
	before.HolderIdentity, before.LeaseDurationSeconds = &holder, &seconds
	return before
}

func (l access) written(lease *unstructured.Unstructured, spec coordinationv1.LeaseSpec) (*unstructured.Unstructured, error) {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&spec)
	if err != nil {
		return nil, err
	}
	lease.SetAPIVersion(coordinationv1.SchemeGroupVersion.String())
	lease.SetKind("Lease")
	lease.SetNamespace(l.id.Namespace)
	lease.SetName(l.id.Name)
	lease.Object["spec"] = fields
	return lease, nil
}

// holderOf returns the run that holds a Lease; "" when none does.
func holderOf(spec coordinationv1.LeaseSpec) string {
	if spec.HolderIdentity == nil {
		return ""
	}
	return *spec.HolderIdentity
}

// durationOf returns how long the holder of a Lease counts as alive without a
// renewal.
func durationOf(spec coordinationv1.LeaseSpec, otherwise time.Duration) time.Duration {
	var seconds int32
	if spec.LeaseDurationSeconds != nil {
		seconds = *spec.LeaseDurationSeconds
	}
	return cmp.Or(time.Duration(max(seconds, 0))*time.Second, otherwise)
}

// timeOf returns a time of a Lease, zero when it is unset.
func timeOf(t *metav1.MicroTime) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.Time
}

// isNamespaceGone reports whether the Lease's Namespace is terminating or does not
// exist, if it can be read.
func (l access) isNamespaceGone(ctx context.Context) bool {
	live, err := l.cluster.Get(ctx, kube.NamespaceKind(), "", l.id.Namespace)
	return apierrors.IsNotFound(err) || err == nil && live.GetDeletionTimestamp() != nil
}

// isLostRace reports whether another run wrote the Lease first.
func isLostRace(err error) bool { return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) }

// isPermanent reports whether an error is permanent.
func isPermanent(err error) bool {
	return apierrors.IsForbidden(err) || apierrors.IsInvalid(err) || fault.MissingNamespace(err) != ""
}
