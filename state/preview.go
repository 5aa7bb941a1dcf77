package state

import (
	"context"
	"fmt"
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// Preview tells what Do would do. It writes nothing, takes no lock and waits for
// none.
func (r Run) Preview(ctx context.Context) (*apply.Preview, error) {
	r = r.prepared()
	if err := r.parentApart(); err != nil {
		return nil, err
	}
	set, err := Open(ctx, r.Cluster, r.Kind, r.Parent, r.TakeOver)
	if err != nil {
		return nil, err
	}
	preview, err := r.Applier.Preview(ctx, r.Plan, r.Stream.Objects)
	if err != nil || !r.Prune {
		return preview, err
	}
	return preview, r.previewPrune(ctx, set, preview)
}

// previewPrune adds what would be deleted, first what would go first.
func (r Run) previewPrune(ctx context.Context, set *Set, preview *apply.Preview) error {
	members, err := set.Members(ctx)
	if err != nil {
		return fmt.Errorf("prune: %w", err)
	}
	gone := r.leftOver(members)
	maps.DeleteFunc(gone, func(id object.ID, live *unstructured.Unstructured) bool {
		return applyset.Protection(live) != "" || r.essential(id) != ""
	})
	if len(gone) == 0 {
		return nil
	}
	going := removal{set: set, history: r.history()}
	order, _, err := going.order(ctx, gone)
	if err != nil {
		return err
	}
	for _, step := range order.Steps {
		live, err := going.whole(ctx, step.ID, gone[step.ID])
		if err != nil {
			return err
		}
		preview.AddPruned(live, ordering.Reason{Rule: "prune", Detail: "the apply set has it and the stream does not"})
	}
	return nil
}
