package state

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/apply"
)

// persistent is a cluster whose reads are repeated when they do not get through.
type persistent struct{ Cluster }

func (p persistent) Get(ctx context.Context, kind apply.Kind, namespace, name string) (*unstructured.Unstructured, error) {
	return apply.Persist(ctx, func() (*unstructured.Unstructured, error) { return p.Cluster.Get(ctx, kind, namespace, name) })
}

func (p persistent) List(ctx context.Context, kind apply.Kind, namespace string, query apply.Query) ([]*unstructured.Unstructured, error) {
	return apply.Persist(ctx, func() ([]*unstructured.Unstructured, error) { return p.Cluster.List(ctx, kind, namespace, query) })
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
	if !set.Exists() {
		if err := r.homed(ctx); err != nil {
			return nil, err
		}
	}
	if err := r.asClaimed(ctx, set); err != nil {
		return nil, err
	}
	preview, err := r.Applier.Preview(ctx, r.Plan, r.Stream.Objects)
	if err != nil || !r.Prune || !set.Exists() {
		return preview, err
	}
	set.Parent = set.Parent.Widened(r.members()) // as it will be then
	members, err := set.Members(ctx)
	if err != nil {
		return nil, fmt.Errorf("find what would be pruned: %w", err)
	}
	preview.Notes = members.Remarks()
	pruning := removal{set: set, history: r.history(), remover: r.Remover, keep: r.essential}
	return preview, pruning.preview(ctx, r.leftOver(members), preview)
}
