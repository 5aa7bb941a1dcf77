package apply

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/applyset"
)

// patchOf is what a PATCH of a step holds, with its fingerprint.
func (r *run) patchOf(i int) (*unstructured.Unstructured, error) {
	s := &r.steps[i]
	out := desired(s.obj, r.schemas[s.obj.GroupVersionKind()], r.scaled[s.ID])
	r.a.Membership.label(out)
	return out, mark(out)
}

// prove compares a step with its live object.
func (r *run) prove(i int, live *unstructured.Unstructured) applyset.Proof {
	wanted, err := r.patchOf(i)
	if err != nil || r.a.inherits(live) {
		return applyset.Differs
	}
	if applyset.DropUnownedNulls(wanted, live, r.a.Manager) && mark(wanted) != nil { // the server refused them
		return applyset.Differs
	}
	return applyset.Prove(wanted, live, r.a.Manager)
}

// readProof reads the live objects of a list. Where metadata is all that readiness
// needs, that is read first, and the whole objects only when one of them cannot be
// proven unchanged without.
func (r *run) readProof(ctx context.Context, l *surveyed) readResult {
	q := r.queryOf(l)
	seen := r.a.read(ctx, q)
	if !q.metadata || !r.unproven(l, seen) {
		return seen
	}
	q.metadata = false
	whole := r.a.read(ctx, q)
	if len(whole.failed) > 0 {
		return seen // what it does not prove is sent
	}
	l.metadata = false
	return whole
}

// unproven reports whether only the body of some object can prove that it is
// unchanged.
func (r *run) unproven(l *surveyed, seen readResult) bool {
	return slices.ContainsFunc(l.members, func(i int) bool {
		live := seen.objects[r.steps[i].ID.Name]
		return live != nil && r.prove(i, live) == applyset.Unseen
	})
}
