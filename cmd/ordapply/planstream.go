package main

import (
	"errors"
	"fmt"
	"slices"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/internal/annotations"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// planStream gives the stream of some manifests and plans it. All that is wrong
// with the manifests, their annotations and their order is one error: there is no
// plan then, and nothing is written. Options become those that the stream's switches
// make of them; t is nil without a cluster.
func (f *planningFlags) planStream(inputs []apply.Input, scope apply.Scope, options *ordering.Options, t *target) (*apply.Stream, *ordering.Plan, error) {
	stream, err := apply.NewStream(markHooks(inputs, *options), scope)
	faults, remarks := checkAnnotations(stream)
	ordered, notes, switchErr := f.switches(stream, options)
	wrongKinds, idleKinds := ordering.CheckKinds(stream.Resources, *options, t.servedKinds())
	plan, planErr := stream.Plan(*options)
	if err := errors.Join(err, errors.Join(faults...), switchErr, errors.Join(wrongKinds...), planErr, checkHooks(stream)); err != nil {
		return nil, nil, err
	}
	if !ordered {
		plan = plan.Unordered()
	}
	plan.Notes = slices.Concat(plan.Notes, notes, remarks, idleKinds)
	planHooks(plan, stream)
	return stream, plan, nil
}

// servedKinds are the kinds that the cluster serves, as options name them; nil without
// a cluster.
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

// checkedStream gives the stream of some manifests that are not planned as apply
// would, and remarks on their annotations.
func checkedStream(inputs []apply.Input, scope apply.Scope) (*apply.Stream, []string, error) {
	stream, err := apply.NewStream(inputs, scope)
	faults, remarks := checkAnnotations(stream)
	return stream, remarks, errors.Join(err, errors.Join(faults...))
}

// checkAnnotations looks at every annotation that is ours. What making a stream
// and a plan of it report is left to these.
func checkAnnotations(stream *apply.Stream) (faults []error, remarks []string) {
	all := slices.Concat(stream.Resources, stream.Hooks)
	metas := make([]object.Meta, len(all))
	for i, r := range all {
		metas[i] = r.Meta
	}
	for _, found := range annotations.Check(metas) {
		first := all[found.On[0]]
		text := fmt.Sprintf("%s%s: %s%s", first.ID, at(first.Source), found.Message, found.Others(metas))
		switch {
		case found.Planned:
		case found.Remark:
			remarks = append(remarks, text)
		default:
			faults = append(faults, errors.New(text))
		}
	}
	return faults, remarks
}
