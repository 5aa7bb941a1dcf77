package state

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/internal/activity"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// SetDeletion deletes a set: its members in the reverse of the order in which
// they were applied, then its history and its parent.
type SetDeletion struct {
	Cluster Cluster                 // required
	Remover apply.Remover           // required; with DryRun nothing is written
	Parent  object.ID               // required: the parent object of the set
	Kind    schema.GroupVersionKind // of the parent
	// Namespace is where the Lease and the history are; default the parent's.
	Namespace string
	// LockTimeout bounds the wait for another run to end; default 0.
	LockTimeout time.Duration
	// OnWaiting is called once when another run is waited for; optional.
	OnWaiting func(*HeldError)
	// OnPlanned is called with the order before anything is deleted; optional.
	OnPlanned func(*ordering.Deletion)
	// Hooks applies the hooks of the revision that was deployed last, before
	// and after the members are deleted; nil: none run. Its Events reports
	// the hooks.
	Hooks *apply.Applier
}

// Do deletes the set. Protected members are kept and lose the set's label.
// While any other member is left the set is kept too, and a second call
// finishes the deletion. The Namespace of the set's records is deleted last
// if it was a member, and the records with it. It returns an *UnknownError when
// there is no such set, the errors of Remover.Run, and those of the lock.
func (d SetDeletion) Do(ctx context.Context) (apply.Summary, error) {
	if d.Namespace == "" {
		d.Namespace = d.Parent.Namespace
	}
	if d.OnPlanned == nil {
		d.OnPlanned = func(*ordering.Deletion) {}
	}
	if d.Remover.DryRun {
		set, err := d.open(ctx)
		if d.isAlreadyDeleted(ctx, err) {
			d.OnPlanned(d.emptyDeletion())
			return apply.Summary{}, nil
		}
		if err != nil {
			return apply.Summary{}, err
		}
		hooked, err := d.hooked(ctx, set)
		if err != nil {
			return apply.Summary{}, err
		}
		return d.members(ctx, set, hooked)
	}
	if _, err := Open(ctx, d.Cluster, d.Kind, d.Parent, false); err != nil {
		return apply.Summary{}, err // before the lock, which is a write too
	}
	lock := Lock{Cluster: d.Cluster, Lease: LeaseOf(d.Parent, d.Namespace), OnWaiting: d.OnWaiting}
	held, release, err := lock.Acquire(ctx, d.LockTimeout)
	switch {
	case missingNamespace(err) != "":
		return apply.Summary{}, d.unknownSetError()
	case isNamespaceTerminating(err): // an earlier run got that far
		return d.finish(ctx)
	case err != nil:
		return apply.Summary{}, err
	}
	summary, err := d.deleteSet(held)
	err = orLost(held, err)
	release()
	var unknown *UnknownError
	if err != nil && !errors.As(err, &unknown) {
		return summary, err
	}
	return summary, errors.Join(err, d.dropLease(ctx))
}

// finish deletes the rest of a set whose Namespace is terminating. The parent
// is deleted last: where that is gone, only the Namespace is left to wait
// for.
func (d SetDeletion) finish(ctx context.Context) (apply.Summary, error) {
	summary, err := d.deleteSet(ctx)
	if _, unknown := errors.AsType[*UnknownError](err); unknown {
		d.OnPlanned(d.emptyDeletion())
		err = nil
	}
	if err == nil {
		err = awaitGone(ctx, d.Cluster, d.Namespace, d.Remover.WaveTimeout)
		summary.OutOfTime = timeoutSummary(err).OutOfTime
	}
	return summary, err
}

// isAlreadyDeleted reports whether a set is unknown because its parent has been
// deleted and its Namespace is terminating.
func (d SetDeletion) isAlreadyDeleted(ctx context.Context, err error) bool {
	_, unknown := errors.AsType[*UnknownError](err)
	return unknown && isTerminating(ctx, d.Cluster, d.Namespace)
}

// emptyDeletion returns the deletion of such a set: nothing is left.
func (d SetDeletion) emptyDeletion() *ordering.Deletion {
	return &ordering.Deletion{Notes: []string{fmt.Sprintf("of apply set %s, only namespace %q is left, which is being deleted", d.Parent, d.Namespace)}}
}

// Order returns what would be deleted, in which order, and the live members. It
// only reads.
func (d SetDeletion) Order(ctx context.Context) (*ordering.Deletion, map[object.ID]*unstructured.Unstructured, error) {
	if d.Namespace == "" {
		d.Namespace = d.Parent.Namespace
	}
	set, err := d.open(ctx)
	if d.isAlreadyDeleted(ctx, err) {
		return d.emptyDeletion(), nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	members, err := set.Members(ctx)
	if err != nil {
		return nil, nil, err
	}
	hooked, err := d.hooked(ctx, set)
	if err != nil {
		return nil, nil, err
	}
	order, _, err := d.removal(set, members, hooked).order(ctx, members.Live)
	return order, members.Live, err
}

func (d SetDeletion) deleteSet(ctx context.Context) (apply.Summary, error) {
	set, err := d.open(ctx)
	if err != nil {
		return apply.Summary{}, err
	}
	if err := set.checkRecordsNamespace(d.Namespace); err != nil {
		return apply.Summary{}, err
	}
	hooked, err := d.hooked(ctx, set)
	if err != nil {
		return apply.Summary{}, err
	}
	summary, err := d.members(ctx, set, hooked)
	if err != nil {
		return hooked.summed(summary), err
	}
	if err := d.unlabelKept(ctx, set, summary); err != nil {
		return hooked.summed(summary), err
	}
	if err := hooked.after(ctx, summary); err != nil {
		return hooked.summed(summary), err
	}
	summary = hooked.summed(summary)
	if err := d.history().Drop(activity.For(ctx, "of the history")); err != nil {
		return summary, err
	}
	return summary, set.Delete(ctx)
}

func (d SetDeletion) open(ctx context.Context) (*Set, error) {
	set, err := Open(ctx, d.Cluster, d.Kind, d.Parent, false)
	if err == nil && (set.Exists() || !isTerminating(ctx, d.Cluster, d.Namespace)) {
		err = set.Recover(ctx, d.history())
	}
	if err == nil && !set.Known() {
		err = d.unknownSetError()
	}
	return set, err
}

func (d SetDeletion) unknownSetError() error {
	return &UnknownError{d.Parent}
}

// UnknownError reports that a set does not exist.
type UnknownError struct{ parent object.ID }

// Error names the set that was looked for.
func (e *UnknownError) Error() string {
	return fmt.Sprintf("apply set %s not found: nothing to delete; name another with KIND/NAME or -n", e.parent)
}

// members deletes all members of the set.
func (d SetDeletion) members(ctx context.Context, set *Set, hooked *hookedDeletion) (apply.Summary, error) {
	members, err := set.Members(activity.For(ctx, "for the deletion"))
	if err != nil {
		return apply.Summary{}, err
	}
	if err := members.checkListable("run this again"); err != nil {
		return apply.Summary{}, err
	}
	summary, err := d.removal(set, members, hooked).run(ctx, members.Live)
	return summary, errors.Join(err, members.checkVerified())
}

// removal returns the deletion of members of the set, none of which is kept
// for the set's sake.
func (d SetDeletion) removal(set *Set, members Members, hooked *hookedDeletion) memberDeletion {
	keep := func(object.ID) string { return "" }
	return memberDeletion{
		set: set, history: d.history(), remover: d.Remover, keepReason: keep, onPlanned: d.OnPlanned,
		notes: slices.Concat(set.withRecoveryNote(members.Remarks()), hooked.remarks()), beforeDelete: hooked.before, alsoDeleted: hooked.made,
	}
}

// unlabelKept removes the set's label from members that were kept.
func (d SetDeletion) unlabelKept(ctx context.Context, set *Set, summary apply.Summary) error {
	for _, result := range summary.Results {
		if result.State != apply.Kept {
			continue
		}
		if err := set.unlabel(ctx, result.ID); err != nil {
			return fmt.Errorf("release %s, which is kept: %w", result.ID, err)
		}
	}
	return nil
}

func (d SetDeletion) history() History {
	return History{Cluster: d.Cluster, Parent: applyset.Parent{ID: d.Parent}, Namespace: d.Namespace}
}

// dropLease deletes the Lease of a set that was deleted, unless another run
// has taken it since.
func (d SetDeletion) dropLease(ctx context.Context) error {
	lease := LeaseOf(d.Parent, d.Namespace)
	live, err := d.Cluster.Get(ctx, leaseKind(), lease.Namespace, lease.Name)
	if err == nil {
		if holder, _, _ := unstructured.NestedString(live.Object, "spec", "holderIdentity"); holder != "" {
			return nil
		}
		err = d.Cluster.Delete(ctx, leaseKind(), live, kube.DeleteOptions{Unchanged: true})
	}
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
}
