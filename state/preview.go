package state

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// persistent is a cluster whose reads are repeated when they do not get through.
type persistent struct{ Cluster }

func (p persistent) Get(ctx context.Context, kind apply.Kind, namespace, name string) (*unstructured.Unstructured, error) {
	return apply.Persist(ctx, "reading "+kind.Resource.GroupResource().String()+" "+name, func() (*unstructured.Unstructured, error) { return p.Cluster.Get(ctx, kind, namespace, name) })
}

func (p persistent) List(ctx context.Context, kind apply.Kind, namespace string, query apply.Query) ([]*unstructured.Unstructured, error) {
	return apply.Persist(ctx, "listing "+kind.Resource.GroupResource().String(), func() ([]*unstructured.Unstructured, error) { return p.Cluster.List(ctx, kind, namespace, query) })
}

// Preview tells what Do would do. It writes nothing, takes no lock and waits for
// none.
func (r Run) Preview(ctx context.Context) (*apply.Preview, error) {
	r.Cluster = persistent{r.Cluster}
	r.Remover.Cluster = r.Cluster
	r = r.prepared()
	if err := r.parentApart(); err != nil {
		return nil, err
	}
	return r.preview(ctx)
}

func (r Run) preview(ctx context.Context) (*apply.Preview, error) {
	set, err := Open(ctx, r.Cluster, r.Kind, r.Parent, r.TakeOver)
	if err != nil {
		return nil, err
	}
	if err := r.recovered(ctx, set); err != nil && !apierrors.IsForbidden(err) {
		return nil, err
	}
	if !set.Known() {
		if err := r.homed(ctx); err != nil {
			return nil, err
		}
	}
	if err := r.asClaimed(ctx, set); err != nil {
		return nil, err
	}
	preview, err := r.Applier.Preview(ctx, r.Plan, r.Stream.Objects)
	if err != nil || !r.Prune || !set.Known() {
		return preview, err
	}
	pruning, gone, err := r.foreseen(ctx, set)
	if err != nil {
		return nil, err
	}
	preview.Notes = pruning.remarks
	return preview, pruning.preview(ctx, gone, preview)
}

// foreseen is what Do would prune, and how.
func (r Run) foreseen(ctx context.Context, set *Set) (removal, map[object.ID]*unstructured.Unstructured, error) {
	set.Parent = set.Parent.Widened(r.members()) // as it will be then
	members, err := set.Members(ctx)
	if err != nil {
		return removal{}, nil, fmt.Errorf("find what would be pruned: %w", err)
	}
	pruning := removal{set: set, history: r.history(), remover: r.Remover, keep: r.keeping(members), ends: r.Plan, remarks: set.withRemark(members.Remarks())}
	gone := r.leftOver(members)
	if err := r.neededDefinitions(gone); err != nil {
		return removal{}, nil, fmt.Errorf("prune: %w", err)
	}
	return pruning, gone, nil
}

// Outline is the plan of Do with the waves, behind its own, in which it would
// prune. What stays all the same is in none of them, and the notes say why. It
// reads what the set has, and asks for nothing to be rehearsed.
func (r Run) Outline(ctx context.Context) (*ordering.Plan, error) {
	r.Cluster = persistent{r.Cluster}
	r.Remover.Cluster = r.Cluster
	r = r.prepared()
	set, err := Open(ctx, r.Cluster, r.Kind, r.Parent, r.TakeOver)
	if err != nil || !r.Prune {
		return r.Plan, err
	}
	if err := r.recovered(ctx, set); err != nil && !apierrors.IsForbidden(err) {
		return nil, err
	}
	if !set.Known() {
		return r.Plan, nil
	}
	pruning, gone, err := r.foreseen(ctx, set)
	if err != nil {
		return nil, err
	}
	return pruning.outline(ctx, gone)
}

// outline is the plan that run would follow.
func (r removal) outline(ctx context.Context, live map[object.ID]*unstructured.Unstructured) (*ordering.Plan, error) {
	if len(live) == 0 && len(r.remarks) == 0 {
		return r.ends, nil
	}
	order, _, err := r.order(ctx, live)
	if err != nil {
		return nil, err
	}
	stays := r.stays(ctx, order, live)
	goes := order.Of(func(id object.ID) bool { return stays[id] == "" })
	for _, step := range order.Steps {
		if why := stays[step.ID]; why != "" {
			goes.Notes = append(goes.Notes, fmt.Sprintf("%s stays, though the stream no longer holds it: %s", step.ID, why))
		}
	}
	goes.Ends = r.ends
	return goes.Plan(), nil
}
