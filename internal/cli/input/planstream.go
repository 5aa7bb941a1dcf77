package input

import (
	"errors"
	"slices"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/internal/author/lint"
	"github.com/ordapply/ordapply/internal/cli/connect"
	"github.com/ordapply/ordapply/internal/cli/usage"
	"github.com/ordapply/ordapply/ordering"
)

// PlanStream builds the stream of some manifests and plans it. The error joins
// everything that is wrong with the manifests, their annotations and their
// order; nothing has been written then. It updates options from the stream's
// annotations. t is nil without a cluster.
func (s *Source) PlanStream(inputs []apply.Input, scope apply.Scope, options *ordering.Options, t *connect.Target) (*apply.Stream, *ordering.Plan, error) {
	inputs = MarkHooks(inputs, options)
	if s.SyncHooksAreSteps {
		inputs = withoutSyncHooks(inputs, *options)
	}
	stream, err := apply.NewStream(inputs, scope)
	skipped, refused := s.LeaveOutArgoHooks(stream, *options)
	faults, remarks := checkAnnotations(stream)
	ordered, notes, switchErr := s.switches(stream, options)
	wrongKinds, idleKinds := lint.CheckKinds(stream.Resources, *options, t.ServedKinds())
	plan, planErr := stream.Plan(*options)
	if err := errors.Join(err, errors.Join(faults...), switchErr, errors.Join(wrongKinds...), planErr, refused, checkHooks(stream, options.OrderSource)); err != nil {
		return nil, nil, err
	}
	if err := s.checkAtomic(options.Stacks, ordered); err != nil {
		return nil, nil, err
	}
	if !ordered {
		plan = plan.Unordered()
	}
	plan.Notes = slices.Concat(plan.Notes, notes, remarks, idleKinds)
	plan.Skipped = slices.Concat(plan.Skipped, skipped)
	planHooks(plan, stream)
	return stream, plan, nil
}

// CheckedStream builds the stream of some manifests that are not planned for an
// apply, and returns remarks on their annotations.
func CheckedStream(inputs []apply.Input, scope apply.Scope) (*apply.Stream, error) {
	stream, err := apply.NewStream(inputs, scope)
	faults, _ := checkAnnotations(stream)
	return stream, errors.Join(err, errors.Join(faults...))
}

// checkAtomic rejects options with which a stack cannot be atomic. Without an apply set
// its earlier state is not known, without waiting its outcome is not known, and without
// an order other resources use it before it is ready.
func (s *Source) checkAtomic(stacks []ordering.Stack, ordered bool) error {
	at := slices.IndexFunc(stacks, func(s ordering.Stack) bool { return s.Atomic })
	if at < 0 {
		return nil
	}
	switch stack := stacks[at].Name; {
	case s.NoSet:
		return usage.Errorf("stack %s is atomic, which requires an apply set to roll back to: name one with --applyset", stack)
	case s.NoWait:
		return usage.Errorf("stack %s is atomic, which requires waiting until it is ready: leave out --wait=false", stack)
	case !ordered:
		return usage.Errorf("stack %s is atomic, and without an order others may use it before it is ready: set --ordering", stack)
	}
	return nil
}
