package main

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/health"
	"github.com/ordapply/ordapply/ordering"
)

// planningFlags control how the plan is built.
type planningFlags struct {
	frame             string
	hooks             string
	prerequisites     bool
	prerequisiteKinds []string
	charts            []string
	flags             *pflag.FlagSet // the command's flags; those on the command line take precedence over annotations
}

func (f *planningFlags) register(flags *pflag.FlagSet) {
	f.flags = flags
	flags.StringVar(&f.frame, "frame", "", "which order to use for a stream that has several: argocd, helm or none; the stamps of a SortOrder take precedence")
	flags.StringVar(&f.hooks, "hooks", "run", `what to do with Helm hooks: "run" them as Helm does, around the apply; "skip" or "refuse" them. Argo CD hooks that a sync does not create are refused unless skipped`)
	flags.BoolVar(&f.prerequisites, "prerequisites", true, "apply CRDs and Namespaces before everything else, unless something else places them")
	flags.StringSliceVar(&f.prerequisiteKinds, "prerequisite-kinds", nil, "further kinds to apply before everything else, such as StorageClass or Issuer.cert-manager.io")
	flags.StringSliceVar(&f.charts, "chart", nil, "folder of the Helm chart that the stream was rendered from; preserves the order of its subcharts")
}

// options returns the options for package ordering. order is the file of
// --order, or ""; it may group resources into stacks.
func (f *planningFlags) options(ctx context.Context, order string) (ordering.Options, error) {
	for i, kind := range f.prerequisiteKinds {
		f.prerequisiteKinds[i] = strings.TrimSpace(kind)
	}
	options := ordering.Options{NoPrerequisites: !f.prerequisites, PrerequisiteKinds: f.prerequisiteKinds, SkipHooks: f.hooks == "skip", RunHooks: f.hooks == "run", Condition: health.MatchConditions()}
	var err error
	if options.OrderSource, err = ordering.ParseOrderSource(f.frame); err != nil {
		return options, usagef("--frame: %w", err)
	}
	if f.hooks != "run" && f.hooks != "refuse" && f.hooks != "skip" {
		return options, usagef("--hooks=%s: write run, skip or refuse", f.hooks)
	}
	for _, folder := range f.charts {
		charts, err := readCharts(ctx, folder)
		if err != nil {
			return options, err
		}
		options.Charts = append(options.Charts, charts...)
	}
	if order == "" {
		return options, nil
	}
	file, err := readOrderFile(ctx, order)
	if err != nil {
		return options, err
	}
	options.Stacks, options.ApplicationOf, options.KindTimeouts = file.stacks, file.applicationOf, file.timeouts
	options.IdleApplications = file.idle
	return options, nil
}

// offline holds the flags of commands that plan without a cluster.
type offline struct {
	inputFlags
	planningFlags
	namespace string
}

func (o *offline) register(cmd *cobra.Command) {
	o.inputFlags.register(cmd.Flags())
	o.planningFlags.register(cmd.Flags())
	cmd.Flags().StringVarP(&o.namespace, "namespace", "n", "default", "namespace of objects without one")
}

// load reads the manifests and the planning options.
func (o *offline) load(cmd *cobra.Command) ([]apply.Input, ordering.Options, error) {
	return readAll(cmd, &o.inputFlags, &o.planningFlags, func(context.Context) apply.Scope { return o.scope() })
}

// scope returns the scope of a stream without a cluster.
func (o *offline) scope() apply.Scope { return apply.Scope{Namespace: o.namespace} }

// loadPlan reads and plans the manifests.
func (o *offline) loadPlan(cmd *cobra.Command) (*apply.Stream, []apply.Input, *ordering.Plan, error) {
	inputs, options, err := o.load(cmd)
	if err != nil {
		return nil, nil, nil, err
	}
	stream, plan, err := o.planStream(inputs, o.scope(), &options, nil)
	if err != nil {
		return nil, nil, nil, err
	}
	_, err = gates(plan, stream, true)
	return stream, inputs, plan, err
}

// plan reads the manifests and returns their plan.
func (o *offline) plan(cmd *cobra.Command) (*ordering.Plan, error) {
	_, _, plan, err := o.loadPlan(cmd)
	return plan, err
}

// oneOf returns an error if value is not one of the choices.
func oneOf(flag, value string, choices ...string) error {
	if slices.Contains(choices, value) {
		return nil
	}
	return usagef("--%s=%s: write one of %v", flag, cmp.Or(value, `""`), choices)
}
