package input

import (
	"context"
	"errors"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/internal/cli/console"
	"github.com/ordapply/ordapply/ordering"
)

// ReadAll reads the manifests and the planning options. If a manifest or the
// order cannot be read, the error also contains everything that is wrong with
// the rest, so that it can be fixed in one pass.
func (s *Source) ReadAll(ctx context.Context, c *console.Console, scope func(context.Context) apply.Scope) ([]apply.Input, ordering.Options, error) {
	inputs, options, wrong := s.readParts(ctx, c)
	if wrong == nil || len(inputs) == 0 || ctx.Err() != nil {
		return inputs, options, wrong
	}
	stream, err := apply.NewStream(MarkHooks(inputs, &options), scope(ctx))
	faults, _ := checkAnnotations(stream)
	plan, unplanned := stream.Plan(options)
	if plan != nil {
		unplanned = plan.Err()
	}
	return nil, options, errors.Join(wrong, err, errors.Join(faults...), unplanned)
}

// readParts reads the manifests and the planning options. With errors it returns the
// readable parts.
func (s *Source) readParts(ctx context.Context, c *console.Console) ([]apply.Input, ordering.Options, error) {
	options, wrong := s.options(ctx, c, s.Order)
	reading := *s
	if wrong != nil {
		without, other := s.options(ctx, c, "")
		if other != nil || s.Order == "" { // the error is not in the order
			return nil, options, wrong
		}
		options, reading.Order, reading.RequireOrder = without, "", false
	}
	inputs, unread := reading.Read(ctx, c)
	if wrong != nil && errors.Is(unread, ErrNoResources) {
		unread = nil
	}
	options.Incomplete = unread != nil
	return inputs, options, errors.Join(wrong, unread)
}
