package state

import (
	"context"

	"github.com/ordapply/ordapply/apply"
)

// Preview tells what Do would do. It writes nothing, takes no lock and waits for
// none.
func (r Run) Preview(ctx context.Context) (*apply.Preview, error) {
	r = r.prepared()
	if err := r.parentApart(); err != nil {
		return nil, err
	}
	if _, err := Open(ctx, r.Cluster, r.Kind, r.Parent, r.TakeOver); err != nil {
		return nil, err
	}
	return r.Applier.Preview(ctx, r.Plan, r.Stream.Objects)
}
