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
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// Dissolution deletes a set: its members in the reverse of the order in which
// they were applied, then what it was remembered by.
type Dissolution struct {
	Cluster Cluster
	Remover apply.Remover
	Parent  object.ID
	Kind    schema.GroupVersionKind // of the parent
	// Namespace is where the Lease and the history are; default the parent's.
	Namespace string
	// LockTimeout is how long to wait for another run to end; default 0.
	LockTimeout time.Duration
	// Waiting is told, once, that another run is waited for; default: nobody.
	Waiting func(*HeldError)
	// Planned is told the order before anything is deleted; default: nobody.
	Planned func(*ordering.Deletion)
	// Hooks applies the hooks of the revision that was deployed last, before and after
	// the members are deleted; nil: none run. Its Events are told of the hooks.
	Hooks *apply.Applier
}

// Do deletes the set. What a protection keeps is let go: it stays and is a
// member no longer. While anything else is left the set stays too, and a second
// call finishes the work. The Namespace that the set is kept in goes last, and
// with it whatever tells of the set, when it was a member.
func (d Dissolution) Do(ctx context.Context) (apply.Summary, error) {
	if d.Namespace == "" {
		d.Namespace = d.Parent.Namespace
	}
	if d.Planned == nil {
		d.Planned = func(*ordering.Deletion) {}
	}
	if d.Remover.DryRun {
		set, err := d.open(ctx)
		if d.isRemnant(ctx, err) {
			d.Planned(d.remnant())
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
		return apply.Summary{}, err // before the lock, which is written, too
	}
	lock := Lock{Cluster: d.Cluster, Lease: LeaseOf(d.Parent, d.Namespace), Waiting: d.Waiting}
	held, release, err := lock.Acquire(ctx, d.LockTimeout)
	switch {
	case missingNamespace(err) != "":
		return apply.Summary{}, d.unknown()
	case isGoing(err): // an earlier run came that far
		return d.finish(ctx)
	case err != nil:
		return apply.Summary{}, err
	}
	summary, err := d.dissolve(held)
	err = orLost(held, err)
	release()
	var unknown *UnknownError
	if err != nil && !errors.As(err, &unknown) {
		return summary, err
	}
	return summary, errors.Join(err, d.dropLease(ctx))
}

// finish deletes what is left of a set whose Namespace is being deleted. Its
// parent goes last: where that is gone, only the Namespace is left to wait for.
func (d Dissolution) finish(ctx context.Context) (apply.Summary, error) {
	summary, err := d.dissolve(ctx)
	if _, unknown := errors.AsType[*UnknownError](err); unknown {
		d.Planned(d.remnant())
		err = nil
	}
	if err == nil {
		err = awaitGone(ctx, d.Cluster, d.Namespace, d.Remover.WaveTimeout)
		summary.OutOfTime = overtime(err).OutOfTime
	}
	return summary, err
}

// isRemnant tells whether a set is unknown because an earlier run, or whoever
// deletes the Namespace that it was kept in, came as far as its parent.
func (d Dissolution) isRemnant(ctx context.Context, err error) bool {
	_, unknown := errors.AsType[*UnknownError](err)
	return unknown && beingDeleted(ctx, d.Cluster, d.Namespace)
}

// remnant is the order of what is left of such a set: nothing.
func (d Dissolution) remnant() *ordering.Deletion {
	return &ordering.Deletion{Notes: []string{fmt.Sprintf("nothing is left of apply set %s but namespace %q, which is being deleted", d.Parent, d.Namespace)}}
}

// Order tells what would be deleted, in which order.
func (d Dissolution) Order(ctx context.Context) (*ordering.Deletion, map[object.ID]*unstructured.Unstructured, error) {
	if d.Namespace == "" {
		d.Namespace = d.Parent.Namespace
	}
	set, err := d.open(ctx)
	if d.isRemnant(ctx, err) {
		return d.remnant(), nil, nil
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

func (d Dissolution) dissolve(ctx context.Context) (apply.Summary, error) {
	set, err := d.open(ctx)
	if err != nil {
		return apply.Summary{}, err
	}
	if err := set.livesIn(d.Namespace); err != nil {
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
	if err := d.letGo(ctx, set, summary); err != nil {
		return hooked.summed(summary), err
	}
	if err := hooked.after(ctx, summary); err != nil {
		return hooked.summed(summary), err
	}
	summary = hooked.summed(summary)
	if err := d.history().Drop(activity.For(ctx, "of the history")); err != nil {
		return summary, err
	}
	return summary, set.Drop(ctx)
}

func (d Dissolution) open(ctx context.Context) (*Set, error) {
	set, err := Open(ctx, d.Cluster, d.Kind, d.Parent, false)
	if err == nil && (set.Exists() || !beingDeleted(ctx, d.Cluster, d.Namespace)) {
		err = set.Recover(ctx, d.history())
	}
	if err == nil && !set.Known() {
		err = d.unknown()
	}
	return set, err
}

func (d Dissolution) unknown() error {
	return &UnknownError{d.Parent}
}

// UnknownError says that a set is not there.
type UnknownError struct{ parent object.ID }

func (e *UnknownError) Error() string {
	return fmt.Sprintf("there is no apply set %s: nothing to delete; name another with KIND/NAME or -n", e.parent)
}

// members deletes all members of the set.
func (d Dissolution) members(ctx context.Context, set *Set, hooked *departure) (apply.Summary, error) {
	members, err := set.Members(activity.For(ctx, "for the deletion"))
	if err != nil {
		return apply.Summary{}, err
	}
	if err := members.answering("run this again"); err != nil {
		return apply.Summary{}, err
	}
	summary, err := d.removal(set, members, hooked).run(ctx, members.Live)
	return summary, errors.Join(err, members.certain())
}

// removal deletes members of the set, of which none must stay for its sake.
func (d Dissolution) removal(set *Set, members Members, hooked *departure) removal {
	keep := func(object.ID) string { return "" }
	return removal{
		set: set, history: d.history(), remover: d.Remover, keep: keep, planned: d.Planned,
		remarks: slices.Concat(set.withRemark(members.Remarks()), hooked.remarks()), first: hooked.before, leavesToo: hooked.made,
	}
}

// letGo takes the label from members that were kept: nobody owns them now.
func (d Dissolution) letGo(ctx context.Context, set *Set, summary apply.Summary) error {
	for _, result := range summary.Results {
		if result.State != apply.Kept {
			continue
		}
		if err := set.unlabel(ctx, result.ID); err != nil {
			return fmt.Errorf("let go of %s, which is kept: %w", result.ID, err)
		}
	}
	return nil
}

func (d Dissolution) history() History {
	return History{Cluster: d.Cluster, Parent: applyset.Parent{ID: d.Parent}, Namespace: d.Namespace}
}

// dropLease deletes the Lease of a set that was deleted, unless another run has
// begun meanwhile.
func (d Dissolution) dropLease(ctx context.Context) error {
	lease := LeaseOf(d.Parent, d.Namespace)
	live, err := d.Cluster.Get(ctx, leaseKind(), lease.Namespace, lease.Name)
	if err == nil {
		if holder, _, _ := unstructured.NestedString(live.Object, "spec", "holderIdentity"); holder != "" {
			return nil
		}
		err = d.Cluster.Delete(ctx, leaseKind(), live, apply.DeleteOptions{Unchanged: true})
	}
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
}
