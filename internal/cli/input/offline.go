package input

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/ordering"
)

// Offline holds the flags of commands that plan without a cluster.
type Offline struct {
	StreamFlags
	PlanFlags
	Namespace string
}

// Register defines the flags.
func (o *Offline) Register(cmd *cobra.Command) {
	o.StreamFlags.Register(cmd.Flags())
	o.PlanFlags.Register(cmd.Flags())
	cmd.Flags().StringVarP(&o.Namespace, "namespace", "n", "default", "namespace of objects without one")
}

// Load reads the manifests and the planning options.
func (o *Offline) Load(cmd *cobra.Command) ([]apply.Input, ordering.Options, error) {
	return ReadAll(cmd, &o.StreamFlags, &o.PlanFlags, func(context.Context) apply.Scope { return o.Scope() })
}

// Scope returns the scope of a stream without a cluster.
func (o *Offline) Scope() apply.Scope { return apply.Scope{Namespace: o.Namespace} }

// LoadPlan reads and plans the manifests.
func (o *Offline) LoadPlan(cmd *cobra.Command) (*apply.Stream, []apply.Input, *ordering.Plan, error) {
	inputs, options, err := o.Load(cmd)
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
func (o *Offline) Plan(cmd *cobra.Command) (*ordering.Plan, error) {
	_, _, plan, err := o.LoadPlan(cmd)
	return plan, err
}
