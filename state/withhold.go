package state

import (
	"context"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/state/history"
	"github.com/ordapply/ordapply/state/set"
)

// pastMembers are members that are to be deleted, as the set's revisions have them.
type pastMembers struct {
	revision history.Revision                         // gives their order
	missing  map[object.ID]*unstructured.Unstructured // that no revision contains
	notes    []string
}

// readPast reads the newest revisions that contain live members.
func readPast(ctx context.Context, records history.History, live map[object.ID]*unstructured.Unstructured) (*pastMembers, error) {
	past := &pastMembers{missing: maps.Clone(live)}
	if len(live) == 0 {
		return past, nil
	}
	var err error
	past.revision, past.notes, err = records.Containing(ctx, past.missing)
	return past, err
}

// withhold removes from members and gone all members that are in no revision that the parent
// vouches for, and not listed by it. A member that is only released needs no such proof, nor
// does one that is being deleted, or a set that another tool manages until this run.
func withhold(ctx context.Context, set *set.Set, records history.History, members *set.Members, gone map[object.ID]*unstructured.Unstructured, adopted history.Adoptions) (*pastMembers, error) {
	past, err := readPast(ctx, records, gone)
	if err != nil || set.IsOtherTool() {
		return past, err
	}
	unnamed := past.missing
	if records.Vouchers == nil {
		unnamed = gone
	}
	var ids []object.ID
	for _, id := range slices.SortedFunc(maps.Keys(unnamed), object.Compare) {
		_, released := adopted.Of(id)
		if !released && !set.IsFormer(id) && gone[id].GetDeletionTimestamp() == nil {
			ids = append(ids, id)
		}
	}
	members.Withhold(set, ids)
	for _, id := range ids {
		delete(gone, id)
	}
	return past, nil
}
