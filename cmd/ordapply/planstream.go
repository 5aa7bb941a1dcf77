package main

import (
	"errors"
	"fmt"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/internal/annotations"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// planStream gives the stream of some manifests and plans it. All that is wrong
// with the manifests, their annotations and their order is one error: there is no
// plan then, and nothing is written.
func planStream(inputs []apply.Input, scope apply.Scope, options ordering.Options) (*apply.Stream, *ordering.Plan, error) {
	stream, err := apply.NewStream(inputs, scope)
	faults, remarks := checkAnnotations(stream)
	plan, planErr := stream.Plan(options)
	if err := errors.Join(err, errors.Join(faults...), planErr); err != nil {
		return nil, nil, err
	}
	plan.Notes = append(plan.Notes, remarks...)
	return stream, plan, nil
}

// checkAnnotations looks at every annotation that is ours. What making a stream
// and a plan of it report is left to these.
func checkAnnotations(stream *apply.Stream) (faults []error, remarks []string) {
	metas := make([]object.Meta, len(stream.Resources))
	for i, r := range stream.Resources {
		metas[i] = r.Meta
	}
	for _, found := range annotations.Check(metas) {
		first := stream.Resources[found.On[0]]
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
