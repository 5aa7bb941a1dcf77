package apply

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/applyset"
)

// patchBody returns the body of a step's PATCH, with its fingerprint.
func (r *run) patchBody(i int) (*unstructured.Unstructured, error) {
	s := &r.steps[i]
	out := desired(s.manifest, r.schemas[s.manifest.GroupVersionKind()], r.autoscaled[s.ID])
	r.applier.Membership.label(out)
	return out, setFingerprint(out)
}

// compareWithLive compares a step with its live object.
func (r *run) compareWithLive(i int, live *unstructured.Unstructured) applyset.Proof {
	wanted, err := r.patchBody(i)
	if err != nil || r.applier.hasPreviousManagerFields(live) {
		return applyset.Differs
	}
	if applyset.DropUnownedNulls(wanted, live, r.applier.Manager) && setFingerprint(wanted) != nil { // the server refused them
		return applyset.Differs
	}
	return applyset.Prove(wanted, live, r.applier.Manager)
}

// readForComparison reads the live objects of a list. Where readiness needs only
// metadata, it reads that first, and the whole objects only when metadata
// cannot prove that all of them are unchanged.
func (r *run) readForComparison(ctx context.Context, l *snapshotList) readResult {
	q := r.queryOf(l)
	seen := r.applier.read(ctx, q)
	if !q.metadata || !r.needsWholeObjects(l, seen) {
		return seen
	}
	q.metadata = false
	whole := r.applier.read(ctx, q)
	if len(whole.failed) > 0 {
		return seen // what is not proven unchanged is sent
	}
	l.metadata = false
	return whole
}

// needsWholeObjects reports whether some object can only be proven unchanged by its
// body.
func (r *run) needsWholeObjects(l *snapshotList, seen readResult) bool {
	return slices.ContainsFunc(l.members, func(i int) bool {
		live := seen.objects[r.steps[i].ID.Name]
		return live != nil && r.compareWithLive(i, live) == applyset.NeedsBody
	})
}
