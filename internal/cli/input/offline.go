package input

import (
	"context"

	"github.com/spf13/pflag"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/internal/cli/console"
	"github.com/ordapply/ordapply/internal/cli/flags"
	"github.com/ordapply/ordapply/ordering"
)

// Offline plans without a cluster.
type Offline struct {
	Source
	Namespace string // of objects without one
}

// Register defines the flags.
func (o *Offline) Register(set *pflag.FlagSet) {
	flags.Manifests(set, &o.Manifests)
	flags.Planning(set, &o.Planning)
	set.StringVarP(&o.Namespace, "namespace", "n", "default", "namespace of objects without one")
}

// Load reads the manifests and the planning options.
func (o *Offline) Load(ctx context.Context, c *console.Console) ([]apply.Input, ordering.Options, error) {
	return o.ReadAll(ctx, c, func(context.Context) apply.Scope { return o.Scope() })
}

// Scope returns the scope of a stream without a cluster.
func (o *Offline) Scope() apply.Scope { return apply.Scope{Namespace: o.Namespace} }

// LoadPlan reads and plans the manifests.
func (o *Offline) LoadPlan(ctx context.Context, c *console.Console) (*apply.Stream, []apply.Input, *ordering.Plan, error) {
	inputs, options, err := o.Load(ctx, c)
	if err != nil {
		return nil, nil, nil, err
	}
	stream, plan, err := o.PlanStream(inputs, o.Scope(), &options, nil)
	if err != nil {
		return nil, nil, nil, err
	}
	_, err = Gates(plan, stream, true)
	return stream, inputs, plan, err
}

// Plan reads the manifests and returns their plan.
func (o *Offline) Plan(ctx context.Context, c *console.Console) (*ordering.Plan, error) {
	_, _, plan, err := o.LoadPlan(ctx, c)
	return plan, err
}
