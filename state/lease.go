package state

import (
	"cmp"
	"context"
	"errors"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/object"
)

// leaseAccess reads and writes the Lease of a lock. What it writes is what
// client-go's leader election writes, so that other versions and other tools read
// it right. Each write replaces what was read or written before it and fails
// when anything else was written since: a renewal that gets through proves that
// no other run had the lock in between.
type leaseAccess struct {
	cluster  Cluster
	id       object.ID
	holder   string
	lifetime time.Duration
}

func leaseKind() apply.Kind {
	return apply.Kind{Resource: coordinationv1.SchemeGroupVersion.WithResource("leases"), Namespaced: true}
}

// retryPeriod is how often a Lease is renewed, and how often one that another
// run holds is read.
func (l leaseAccess) retryPeriod() time.Duration { return l.lifetime / 5 }

// within is how long after its last renewal a Lease still lets requests out.
// Another run takes it after its whole lifetime: what is left in between is for
// requests on their way.
func (l leaseAccess) within() time.Duration { return l.lifetime * 2 / 3 }

// read reads the Lease, as it is and what it says.
func (l leaseAccess) read(ctx context.Context) (*unstructured.Unstructured, coordinationv1.LeaseSpec, error) {
	live, err := l.cluster.Get(ctx, leaseKind(), l.id.Namespace, l.id.Name)
	if err != nil {
		return nil, coordinationv1.LeaseSpec{}, err
	}
	spec, err := leaseSpec(live)
	return live, spec, err
}

func leaseSpec(live *unstructured.Unstructured) (coordinationv1.LeaseSpec, error) {
	lease := coordinationv1.Lease{}
	if live == nil {
		return lease.Spec, nil
	}
	err := runtime.DefaultUnstructuredConverter.FromUnstructured(live.Object, &lease)
	return lease.Spec, err
}

// create makes the Lease, which is ours then.
func (l leaseAccess) create(ctx context.Context) (*unstructured.Unstructured, error) {
	lease, err := l.written(&unstructured.Unstructured{}, l.taken(coordinationv1.LeaseSpec{}))
	if err != nil {
		return nil, err
	}
	return l.cluster.Create(ctx, leaseKind(), lease)
}

// update writes what the Lease says over what it said.
func (l leaseAccess) update(ctx context.Context, before *unstructured.Unstructured, spec coordinationv1.LeaseSpec) (*unstructured.Unstructured, error) {
	lease, err := l.written(before.DeepCopy(), spec)
	if err != nil {
		return nil, err
	}
	return l.cluster.Update(ctx, leaseKind(), lease)
}

// taken is what a Lease says when this run takes it.
func (l leaseAccess) taken(before coordinationv1.LeaseSpec) coordinationv1.LeaseSpec {
	now, turns := metav1.NowMicro(), int32(0)
	if before.LeaseTransitions != nil {
		turns = *before.LeaseTransitions + 1
	}
	seconds := int32((l.lifetime + time.Second - 1) / time.Second)
	return coordinationv1.LeaseSpec{HolderIdentity: &l.holder, LeaseDurationSeconds: &seconds, AcquireTime: &now, RenewTime: &now, LeaseTransitions: &turns}
}

// renewed is what a Lease of ours says when it is renewed.
func renewed(before coordinationv1.LeaseSpec) coordinationv1.LeaseSpec {
	now := metav1.NowMicro()
	before.RenewTime = &now
	return before
}

// free is what a Lease says when it was given back.
func free(before coordinationv1.LeaseSpec) coordinationv1.LeaseSpec {
	before = renewed(before)
	holder, seconds := "", int32(1)
	before.HolderIdentity, before.LeaseDurationSeconds = &holder, &seconds
	return before
}

func (l leaseAccess) written(lease *unstructured.Unstructured, spec coordinationv1.LeaseSpec) (*unstructured.Unstructured, error) {
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

// holderOf is the run that holds a Lease; "" when none does.
func holderOf(spec coordinationv1.LeaseSpec) string {
	if spec.HolderIdentity == nil {
		return ""
	}
	return *spec.HolderIdentity
}

// lifetimeOf is how long the holder of a Lease is believed to be alive.
func lifetimeOf(spec coordinationv1.LeaseSpec, otherwise time.Duration) time.Duration {
	var seconds int32
	if spec.LeaseDurationSeconds != nil {
		seconds = *spec.LeaseDurationSeconds
	}
	return cmp.Or(time.Duration(max(seconds, 0))*time.Second, otherwise)
}

// timeOf is a time of a Lease, or none.
func timeOf(t *metav1.MicroTime) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.Time
}

// refusedForGood recognises an answer that no waiting will change.
func refusedForGood(err error) bool {
	return apierrors.IsForbidden(err) || missingNamespace(err) != ""
}

// missingNamespace is the Namespace that a request did not find, "" when that
// was not its trouble.
func missingNamespace(err error) string {
	var status apierrors.APIStatus
	if errors.As(err, &status) && apierrors.IsNotFound(err) {
		if d := status.Status().Details; d != nil && d.Kind == "namespaces" {
			return d.Name
		}
	}
	return ""
}
