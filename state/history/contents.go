package history

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// Contents are the kinds and namespaces of a set's revisions.
type Contents struct {
	Parent applyset.Parent // with the kinds and namespaces of all revisions that were read
	Whole  bool            // no revision is missing
	// Unlisted is set when revisions that the set's parent does not know were read, too.
	Unlisted bool
}

// Contents reads the revisions with numbers above since, and adds their kinds and
// namespaces to a parent's. Revisions that cannot be read are left out.
func (h History) Contents(ctx context.Context, index Index, parent applyset.Parent, since int) (Contents, error) {
	past := Contents{Parent: parent, Whole: true, Unlisted: len(index.unlisted) > 0}
	later := slices.DeleteFunc(slices.Concat(index.entries, index.unlisted), func(e Entry) bool { return e.Number <= since })
	h.Vouchers = nil // members are looked for by it, and nothing else
	for i, e := range later {
		revision, err := h.readListed(ctx, e)
		if ctx.Err() != nil {
			return past, context.Cause(ctx)
		}
		past.Whole = past.Whole && e.Number == since+i+1 && err == nil
		if err == nil {
			past.Parent = past.Parent.WithMembers(slices.Collect(maps.Keys(revision.IDs())))
		}
	}
	return past, nil
}

// Containing returns the newest revision that contains one of these resources,
// extended by resources that are only in older ones, and removes all of these from missing.
// Revisions that are damaged or not vouched for are left out, with a note. A parent without
// vouchers excludes none.
func (h History) Containing(ctx context.Context, missing map[object.ID]*unstructured.Unstructured) (past Revision, notes []string, err error) {
	entries, err := h.List(ctx)
	if err != nil {
		return Revision{}, nil, err
	}
	for _, e := range slices.Backward(entries) {
		if len(missing) == 0 {
			break
		}
		revision, err := h.readListed(ctx, e)
		if errors.Is(err, errGone) { // usually with its Namespace: as if it had not been listed
			continue
		}
		if isDamaged(err) || isUnvouched(err) { // it only gives the order
			notes = append(notes, fmt.Sprintf("the order does not follow revision %d: %v", e.Number, err))
			continue
		}
		if err != nil {
			return past, notes, err
		}
		past = withMissing(past, *revision, missing)
	}
	return past, notes, nil
}

// withMissing adds the missing resources that an older revision contains. The
// first revision that contains any is taken as a whole, because its rules may
// refer to all of its resources.
func withMissing(past, older Revision, missing map[object.ID]*unstructured.Unstructured) Revision {
	var found []ordering.Resource
	for _, resource := range older.Resources {
		if _, ok := missing[resource.ID]; ok {
			found = append(found, resource)
			delete(missing, resource.ID)
		}
	}
	if len(found) == 0 {
		return past
	}
	if len(past.Resources) == 0 {
		past.Options, found = older.Options, older.Resources
	}
	past.Resources = append(slices.Clone(past.Resources), found...)
	return past
}
