package state

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/state/set"
)

// releaseProtected releases the members that a prune kept because an annotation protects
// them, and returns the members left: objects kept for another reason, which may pass,
// and undeleted ones.
func releaseProtected(ctx context.Context, set *set.Set, pruned event.Summary, live map[object.ID]*unstructured.Unstructured) ([]object.ID, error) {
	var left []object.ID
	for _, result := range pruned.Results {
		switch {
		case result.State == event.Deleted:
			continue
		case result.State == event.Kept && applyset.Protection(live[result.ID], applyset.Prune) != "":
			if err := set.Release(ctx, result.ID); err != nil {
				return nil, err
			}
			continue
		}
		left = append(left, result.ID)
	}
	return left, nil
}
