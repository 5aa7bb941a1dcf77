package remove

import (
	"context"
	"errors"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/internal/kube/fault"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
)

// The garbage collector of Kubernetes asks every 30 s which kinds exist, and then lists the objects
// of new ones for up to 30 s more (pkg/controller/garbagecollector, Sync). An object that was deleted
// in foreground stays as long. Background propagation takes no time, but then the dependents would
// outlive the controller that removes their finalizers. So the run does what the collector would do
// with the dependents that findOwners looks for, in its order: the owner is terminating, so that no controller makes new dependents; they are
// deleted; when they are gone, a DELETE in background removes the finalizer foregroundDeletion. The
// collector may do the same at the same time.

// newFor is how long the garbage collector may not know a kind.
const newFor = time.Minute

// collectEvery is the pause between two looks at the dependents of a terminating object.
const collectEvery = 500 * time.Millisecond

// isNew reports whether the garbage collector may not know the kind of a CustomResourceDefinition.
func isNew(definition *unstructured.Unstructured) bool {
	return time.Since(definition.GetCreationTimestamp().Time) < newFor
}

// isOfNewKind reports whether the garbage collector may not know an object, or dependents of it.
func (r *removal) isOfNewKind(live *unstructured.Unstructured) bool {
	return r.newKinds[live.GroupVersionKind().GroupKind()] || r.ofNewKinds[live.GetUID()]
}

// collect deletes the dependents of a terminating object, and then lets go of it. What the run may
// not delete is left to the garbage collector.
func (r *removal) collect(i int) {
	s := &r.steps[i]
	if s.state.Final() || r.Stopping {
		return
	}
	c := collection{Remover: r.Remover, definitions: r.definitions, list: r.contents().OfKind, kind: s.kind, owner: s.live}
	r.Enqueue(func(ctx context.Context) func() {
		err := c.collect(ctx)
		return func() {
			switch {
			case errors.Is(err, kube.ErrFenced):
				r.FencedOff(err)
			case err == nil || fault.RetryBudget(err) > 0:
				r.After(collectEvery, func() { r.collect(i) })
			}
		}
	})
}

// collection deletes the dependents of an object.
type collection struct {
	Remover
	definitions []object.ID // of the kinds of its dependents
	list        func(context.Context, object.ID) ([]*unstructured.Unstructured, error)
	kind        kube.Kind
	owner       *unstructured.Unstructured
}

// collect deletes the dependents, and the owner if none is left.
func (c collection) collect(ctx context.Context) error {
	left, err := c.deleteDependents(ctx)
	if err == nil && left > 0 {
		left, err = c.deleteDependents(ctx) // those without finalizers are gone
	}
	if err != nil || left > 0 {
		return err
	}
	return c.delete(ctx, c.kind, c.owner)
}

// deleteDependents deletes the direct and indirect dependents of the owner, and returns how many
// there were. Those that have other owners, too, or are protected, are not deleted.
func (c collection) deleteDependents(ctx context.Context) (int, error) {
	var all []*unstructured.Unstructured
	for _, definition := range c.definitions {
		found, err := c.list(ctx, definition)
		if err != nil {
			return 0, err
		}
		all = append(all, found...)
	}
	doomed := map[types.UID]*unstructured.Unstructured{c.owner.GetUID(): c.owner}
	for before := 0; before < len(doomed); {
		before = len(doomed)
		for _, obj := range all {
			if c.goesWith(obj, doomed) {
				doomed[obj.GetUID()] = obj
			}
		}
	}
	left := 0
	for _, obj := range all {
		if !slices.ContainsFunc(blockedBy(obj), func(owner types.UID) bool { return doomed[owner] != nil }) {
			continue
		}
		left++
		if kind, served := c.Cluster.Kind(obj.GroupVersionKind()); served && doomed[obj.GetUID()] != nil && obj.GetDeletionTimestamp() == nil {
			if err := c.delete(ctx, kind, obj); err != nil {
				return left, err
			}
		}
	}
	return left, nil
}

// goesWith reports whether the garbage collector deletes an object because all of its owners are
// deleted. An owner in another namespace is none.
func (c collection) goesWith(obj *unstructured.Unstructured, doomed map[types.UID]*unstructured.Unstructured) bool {
	refs := obj.GetOwnerReferences()
	stays := func(ref metav1.OwnerReference) bool {
		owner := doomed[ref.UID]
		return owner == nil || owner.GetNamespace() != "" && owner.GetNamespace() != obj.GetNamespace()
	}
	return len(refs) > 0 && !slices.ContainsFunc(refs, stays) && (c.Unprotected || applyset.Protection(obj, c.Removal) == "")
}

// delete deletes an object in background.
func (c collection) delete(ctx context.Context, kind kube.Kind, obj *unstructured.Unstructured) error {
	err := c.Before(ctx, kube.Meta(obj).ID)
	if err == nil {
		err = c.Cluster.Delete(ctx, kind, obj, kube.DeleteOptions{})
	}
	if kube.IsGone(err) {
		return nil
	}
	return err
}
