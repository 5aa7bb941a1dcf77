package main

import (
	"errors"
	"slices"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/ordering"
)

// planStream builds the stream of some manifests and plans it. The error joins
// everything that is wrong with the manifests, their annotations and their
// order; nothing has been written then. It updates options from the stream's
// annotations. t is nil without a cluster.
func (f *planningFlags) planStream(inputs []apply.Input, scope apply.Scope, options *ordering.Options, t *target) (*apply.Stream, *ordering.Plan, error) {
	stream, err := apply.NewStream(markHooks(inputs, *options), scope)
	faults, remarks := checkAnnotations(stream)
	ordered, notes, switchErr := f.switches(stream, options)
	wrongKinds, idleKinds := ordering.CheckKinds(stream.Resources, *options, t.servedKinds())
	plan, planErr := stream.Plan(*options)
	if err := errors.Join(err, errors.Join(faults...), switchErr, errors.Join(wrongKinds...), planErr, checkHooks(stream)); err != nil {
		return nil, nil, err
	}
	if err := f.checkAtomic(options.Stacks, ordered); err != nil {
		return nil, nil, err
	}
	if !ordered {
		plan = plan.Unordered()
	}
	plan.Notes = slices.Concat(plan.Notes, notes, remarks, idleKinds)
	planHooks(plan, stream)
	return stream, plan, nil
}

// servedKinds returns the kinds that the cluster serves, in the notation of
// options; nil without a cluster.
func (t *target) servedKinds() []string {
	if t == nil {
		return nil
	}
	var kinds []string
	for _, gvk := range t.cluster.StoredKinds() {
		kinds = append(kinds, gvk.GroupKind().String())
	}
	return kinds
}

// checkedStream builds the stream of some manifests that are not planned for an
// apply, and returns remarks on their annotations.
func checkedStream(inputs []apply.Input, scope apply.Scope) (*apply.Stream, error) {
	stream, err := apply.NewStream(inputs, scope)
	faults, _ := checkAnnotations(stream)
	return stream, errors.Join(err, errors.Join(faults...))
}
