package apply

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// Stays tells which of the live objects a Run would keep, and why, as far as one
// can tell before it. It reads, and writes nothing.
func (m Remover) Stays(ctx context.Context, order *ordering.Deletion, live map[object.ID]*unstructured.Unstructured) map[object.ID]string {
	r := newRemoval(m.withDefaults(), order, live)
	stays := map[object.ID]string{}
	for i := range r.steps { // by wave: what stays in a Namespace comes before it
		s := &r.steps[i]
		if s.live == nil {
			continue
		}
		why := r.stays(i)
		if why == "" && s.live.GetDeletionTimestamp() == nil && r.holdsOthers(i) {
			found, err := r.contents().of(ctx, s.ID)
			why = holding(s.ID, found, err)
		}
		if why != "" {
			stays[s.ID], s.state = why, Kept
		}
	}
	return stays
}
