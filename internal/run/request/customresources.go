package request

import (
	"slices"

	"github.com/ordapply/ordapply/internal/plan/check"
	"github.com/ordapply/ordapply/internal/plan/references"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/ordering"
)

// RejectedByCRDs returns a function that returns the error of a custom resource that the API
// server rejects once the stream's own CustomResourceDefinitions are applied; nil for any other
// resource. reads are the live objects of the plan's steps. A definition that is unchanged is
// left to the API server, which knows more. So are invalid values that the manifest does not
// change: an existing object may keep them.
func (r Reader) RejectedByCRDs(plan *ordering.Plan, reads []LiveObject) func(i int) error {
	changes := r.changedByCRDs(plan, reads)
	if !slices.Contains(changes, true) {
		return func(int) error { return nil }
	}
	var resources []ordering.Resource
	for _, m := range r.Manifests {
		resources = append(resources, ordering.Resource{Meta: kube.Meta(m), Object: m.Object})
	}
	index := references.NewIndex(resources, nil)
	rejected, undeclared := check.Rejected(index), check.Undeclared(index)
	return func(i int) error {
		id := plan.Steps[i].ID
		switch {
		case !changes[i]:
			return nil
		case reads[i].Known && reads[i].Live == nil, !r.isServed(i):
			return rejected[id]
		}
		return undeclared[id]
	}
}

// changedByCRDs reports for each step whether a CustomResourceDefinition of the stream
// defines its kind, and is new or changes.
func (r Reader) changedByCRDs(plan *ordering.Plan, reads []LiveObject) []bool {
	positions, changes := plan.Positions(), map[int]bool{}
	all := make([]bool, len(plan.Steps))
	for i, s := range plan.Steps {
		if !r.Bodies.Defines(r.Manifests[i].GroupVersionKind()) {
			continue
		}
		all[i] = !r.isServed(i)
		for _, crd := range s.ProvidedBy {
			at, ok := positions[crd]
			if !ok {
				continue
			}
			if _, known := changes[at]; !known {
				changes[at] = !r.IsUnchanged(at, reads[at])
			}
			all[i] = all[i] || changes[at]
		}
	}
	return all
}

func (r Reader) isServed(i int) bool {
	_, served := kube.KindsOf(r.Cluster)(r.Manifests[i].GroupVersionKind())
	return served
}
