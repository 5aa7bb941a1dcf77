package remove

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// Kept returns the live objects that Run would keep, with the reason, as far as
// known in advance. It only reads; a Namespace or CRD whose contents cannot be
// read counts as kept.
func (m Remover) Kept(ctx context.Context, order *ordering.Deletion, live map[object.ID]*unstructured.Unstructured) map[object.ID]string {
	r := newRemoval(m.withDefaults(), order, live)
	r.keepOwners(ctx)
	kept := map[object.ID]string{}
	for i := range r.steps { // by wave: the contents of a Namespace come before it
		s := &r.steps[i]
		if s.live == nil {
			continue
		}
		why := r.keptBecause(i)
		if why == "" && s.live.GetDeletionTimestamp() == nil && r.isContainer(i) {
			found, err := r.contents().OnlyDeletedWith(ctx, s.ID)
			why = contentsReason(found, err, r.anyway(s.ID))
		}
		if why != "" {
			kept[s.ID], s.state = why, event.Kept
		}
	}
	return kept
}
