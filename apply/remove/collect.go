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
// with the dependents that findOwners looks for, in its order: the owner is terminating, so that no
// controller makes new dependents; they are deleted; when they are gone, a DELETE in background
// removes the finalizer foregroundDeletion. The collector may do the same at the same time.
// Dependents of other kinds are then deleted as after any deletion in background.

// newFor is how long the garbage collector may not know a kind.
const newFor = time.Minute

// collectEvery is the pause between two looks at the dependents of terminating objects. It doubles
// up to collectSeldom as long as nothing else is to be collected.
const collectEvery, collectSeldom = 500 * time.Millisecond, 2 * time.Second

// isNew reports whether the garbage collector may not know the kind of a CustomResourceDefinition.
func isNew(definition *unstructured.Unstructured) bool {
	return time.Since(definition.GetCreationTimestamp().Time) < newFor
}

// mayCollect reports whether the garbage collector may not know the object of a step, or dependents
// of it, and the run may do its work. Only the collector knows the Pods of a workload.
func (r *removal) mayCollect(i int) bool {
	live := r.steps[i].live
	return !ownsPods(r.steps[i].ID) && (r.newKinds[live.GroupVersionKind().GroupKind()] || r.ofNewKinds[live.GetUID()])
}

// collecting are the steps whose objects are terminating and whose dependents the run deletes, with
// one look for all.
type collecting struct {
	steps   []int
	looking bool
	looks   int           // so far
	pause   time.Duration // before the next look
}

// collect deletes the dependents of a terminating object, and then lets go of it. What the run may
// not delete is left to the garbage collector.
func (r *removal) collect(i int) {
	r.collecting.steps, r.collecting.pause = append(r.collecting.steps, i), collectEvery
	if !r.collecting.looking {
		r.look()
	}
}

// look deletes the dependents of the terminating objects that are still there.
func (r *removal) look() {
	open := &r.collecting
	open.steps = slices.DeleteFunc(open.steps, func(i int) bool { return r.steps[i].state.Final() })
	if len(open.steps) == 0 || r.Stopping {
		return
	}
	open.looking, open.looks = true, open.looks+1
	c := collection{Remover: r.Remover, definitions: r.definitions, list: r.contents().OfKind}
	for _, i := range open.steps {
		c.owners = append(c.owners, owner{i, r.steps[i].kind, r.steps[i].live})
	}
	r.Enqueue(func(ctx context.Context) func() {
		free, err := c.collect(ctx)
		return func() { r.looked(free, err) }
	})
}

// looked goes on after a look that has let go of some objects.
func (r *removal) looked(free []int, err error) {
	open := &r.collecting
	open.looking = false
	open.steps = slices.DeleteFunc(open.steps, func(i int) bool { return slices.Contains(free, i) })
	switch {
	case errors.Is(err, kube.ErrFenced):
		r.FencedOff(err)
	case err != nil && fault.RetryBudget(err) == 0:
		open.steps = nil
	default:
		look := open.looks
		r.After(open.pause, func() {
			if open.looks == look {
				r.look()
			}
		})
		open.pause = min(2*open.pause, collectSeldom)
	}
}

// owner is a terminating object.
type owner struct {
	step int
	kind kube.Kind
	live *unstructured.Unstructured
}

// collection deletes the dependents of objects.
type collection struct {
	Remover
	definitions []object.ID // of the kinds of the dependents
	list        func(context.Context, object.ID) ([]*unstructured.Unstructured, error)
	owners      []owner
}

// collect deletes the dependents, and the owners of which none is left, which it returns.
func (c collection) collect(ctx context.Context) (free []int, err error) {
	blocked, err := c.deleteDependents(ctx)
	if err == nil && len(blocked) > 0 {
		blocked, err = c.deleteDependents(ctx) // those without finalizers are gone
	}
	for _, o := range c.owners {
		if err == nil && !blocked[o.step] {
			if err = c.delete(ctx, o.kind, o.live); err == nil {
				free = append(free, o.step)
			}
		}
	}
	return free, err
}

// deleteDependents deletes the direct and indirect dependents of the owners, and returns the owners
// that had some. Those that have other owners, too, or are protected, are not deleted.
func (c collection) deleteDependents(ctx context.Context) (blocked map[int]bool, err error) {
	var all []*unstructured.Unstructured
	for _, definition := range c.definitions {
		found, err := c.list(ctx, definition)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	blocked = map[int]bool{}
	for _, o := range c.owners {
		if blocked[o.step], err = c.deleteOf(ctx, o.live, all); err != nil {
			return nil, err
		}
		if !blocked[o.step] {
			delete(blocked, o.step)
		}
	}
	return blocked, nil
}

// deleteOf is deleteDependents for one owner, among objects that were listed.
func (c collection) deleteOf(ctx context.Context, live *unstructured.Unstructured, all []*unstructured.Unstructured) (blocked bool, err error) {
	doomed := map[types.UID]*unstructured.Unstructured{live.GetUID(): live}
	for before := 0; before < len(doomed); {
		before = len(doomed)
		for _, obj := range all {
			if c.goesWith(obj, doomed) {
				doomed[obj.GetUID()] = obj
			}
		}
	}
	for _, obj := range all {
		if !slices.ContainsFunc(blockedBy(obj), func(owner types.UID) bool { return doomed[owner] != nil }) {
			continue
		}
		blocked = true
		if kind, served := c.Cluster.Kind(obj.GroupVersionKind()); served && doomed[obj.GetUID()] != nil && obj.GetDeletionTimestamp() == nil {
			if err := c.delete(ctx, kind, obj); err != nil {
				return true, err
			}
		}
	}
	return blocked, nil
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
