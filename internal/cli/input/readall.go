package input

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/ordering"
)

// ReadAll reads the manifests and the planning options. If a manifest or the
// order cannot be read, the error also contains everything that is wrong with
// the rest, so that it can be fixed in one pass.
func ReadAll(cmd *cobra.Command, in *StreamFlags, planning *PlanFlags, scope func(context.Context) apply.Scope) ([]apply.Input, ordering.Options, error) {
	inputs, options, wrong := readParts(cmd, in, planning)
	if wrong == nil || len(inputs) == 0 || cmd.Context().Err() != nil {
		return inputs, options, wrong
	}
	stream, err := apply.NewStream(MarkHooks(inputs, &options), scope(cmd.Context()))
	faults, _ := checkAnnotations(stream)
	plan, unplanned := stream.Plan(options)
	if plan != nil {
		unplanned = plan.Err()
	}
	return nil, options, errors.Join(wrong, err, errors.Join(faults...), unplanned)
}

// readParts reads the manifests and the planning options. With errors it returns the
// readable parts.
func readParts(cmd *cobra.Command, in *StreamFlags, planning *PlanFlags) ([]apply.Input, ordering.Options, error) {
	options, wrong := planning.options(cmd.Context(), in.Order)
	reading := *in
	if wrong != nil {
		without, other := planning.options(cmd.Context(), "")
		if other != nil || in.Order == "" { // the error is not in the order
			return nil, options, wrong
		}
		options, reading.Order, reading.RequireOrder = without, "", false
	}
	inputs, unread := reading.Read(cmd)
	if wrong != nil && errors.Is(unread, ErrNoResources) {
		unread = nil
	}
	options.Incomplete = unread != nil
	return inputs, options, errors.Join(wrong, unread)
}
