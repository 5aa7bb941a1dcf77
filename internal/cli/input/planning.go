package input

import (
	"context"
	"strings"

	"github.com/spf13/pflag"

	"github.com/ordapply/ordapply/internal/cli/usage"
	"github.com/ordapply/ordapply/internal/judge/condition"
	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/ordering"
)

// PlanFlags control the build of the plan.
type PlanFlags struct {
	// SyncHooksAreSteps plans the hooks that Argo CD runs with the resources of a wave like
	// these, for a command that numbers the waves anew.
	SyncHooksAreSteps bool

	frame             string
	Hooks             string
	prerequisites     bool
	prerequisiteKinds []string
	charts            []string
	flags             *pflag.FlagSet // the command's flags; on the command line they take precedence over annotations
}

// Register defines the flags.
func (f *PlanFlags) Register(flags *pflag.FlagSet) {
	f.flags = flags
	flags.StringVar(&f.frame, "frame", "", "which order to use for a stream that has several: argocd, helm or none; the stamps of a SortOrder take precedence")
	flags.StringVar(&f.Hooks, "hooks", "run", `what to do with hooks: "run" them as Helm does, or as Argo CD does where its annotations define the order; "skip" or "refuse" them`)
	flags.BoolVar(&f.prerequisites, "prerequisites", true, "apply CRDs and Namespaces before everything else, unless something else places them")
	flags.StringSliceVar(&f.prerequisiteKinds, "prerequisite-kinds", nil, "further kinds to apply before everything else, such as StorageClass or Issuer.cert-manager.io")
	flags.StringSliceVar(&f.charts, "chart", nil, "folder of the Helm chart that the stream was rendered from, or its .tgz; preserves the order of its subcharts")
}

// options returns the options for package ordering. order is the file of
// --order, or ""; it may group resources into stacks.
func (f *PlanFlags) options(ctx context.Context, order string) (ordering.Options, error) {
	for i, kind := range f.prerequisiteKinds {
		f.prerequisiteKinds[i] = strings.TrimSpace(kind)
	}
	options := ordering.Options{NoPrerequisites: !f.prerequisites, PrerequisiteKinds: f.prerequisiteKinds, SkipHooks: f.Hooks == "skip", RunHooks: f.Hooks == "run", Condition: condition.MatchConditions()}
	var err error
	if options.OrderSource, err = ordering.ParseOrderSource(f.frame); err != nil {
		return options, usage.Errorf("--frame: %w", err)
	}
	if f.Hooks != "run" && f.Hooks != "refuse" && f.Hooks != "skip" {
		return options, usage.Errorf("--hooks=%s: write run, skip or refuse", f.Hooks)
	}
	for _, folder := range f.charts {
		charts, err := ReadCharts(ctx, folder)
		if err != nil {
			return options, err
		}
		options.Charts = append(options.Charts, charts...)
	}
	if order == "" {
		return options, nil
	}
	file, err := ReadOrder(ctx, order)
	if err != nil {
		return options, err
	}
	options.Stacks, options.ApplicationOf, options.KindTimeouts = file.Stacks, file.ApplicationOf, file.Timeouts
	options.IdleApplications = file.Idle
	return options, nil
}

// Same returns the flags that produce the same plan from the same manifests.
func (f *PlanFlags) Same() []string {
	var flags []string
	if f.frame != "" {
		flags = append(flags, "--frame", plain.ShellQuote(f.frame))
	}
	if f.Hooks != "run" {
		flags = append(flags, "--hooks", plain.ShellQuote(f.Hooks))
	}
	if !f.prerequisites {
		flags = append(flags, "--prerequisites=false")
	}
	for _, kind := range f.prerequisiteKinds {
		flags = append(flags, "--prerequisite-kinds", plain.ShellQuote(kind))
	}
	for _, folder := range f.charts {
		flags = append(flags, "--chart", plain.ShellQuote(folder))
	}
	return flags
}
