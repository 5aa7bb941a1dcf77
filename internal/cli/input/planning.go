package input

import (
	"context"
	"strings"

	"github.com/ordapply/ordapply/internal/cli/console"
	"github.com/ordapply/ordapply/internal/cli/usage"
	"github.com/ordapply/ordapply/internal/judge/condition"
	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/ordering"
)

// options returns the options for package ordering. order is the file of
// --order, or ""; it may group resources into stacks.
func (s *Source) options(ctx context.Context, c *console.Console, order string) (ordering.Options, error) {
	for i, kind := range s.PrerequisiteKinds {
		s.PrerequisiteKinds[i] = strings.TrimSpace(kind)
	}
	options := ordering.Options{NoPrerequisites: s.Prerequisites.Off, PrerequisiteKinds: s.PrerequisiteKinds, SkipHooks: s.Hooks == "skip", RunHooks: s.Hooks == "run", Condition: condition.MatchConditions()}
	var err error
	if options.OrderSource, err = ordering.ParseOrderSource(s.Frame); err != nil {
		return options, usage.Errorf("--frame: %w", err)
	}
	if s.Hooks != "run" && s.Hooks != "refuse" && s.Hooks != "skip" {
		return options, usage.Errorf("--hooks=%s: write run, skip or refuse", s.Hooks)
	}
	for _, folder := range s.Charts {
		charts, err := ReadCharts(ctx, c, folder)
		if err != nil {
			return options, err
		}
		options.Charts = append(options.Charts, charts...)
	}
	if order == "" {
		return options, nil
	}
	file, err := ReadOrder(ctx, c, order)
	if err != nil {
		return options, err
	}
	options.Stacks, options.ApplicationOf, options.KindTimeouts = file.Stacks, file.ApplicationOf, file.Timeouts
	options.IdleApplications = file.Idle
	return options, nil
}

// SamePlanning returns the flags that produce the same plan from the same manifests.
func (s *Source) SamePlanning() []string {
	var flags []string
	if s.Frame != "" {
		flags = append(flags, "--frame", plain.ShellQuote(s.Frame))
	}
	if s.Hooks != "run" {
		flags = append(flags, "--hooks", plain.ShellQuote(s.Hooks))
	}
	if s.Prerequisites.Off {
		flags = append(flags, "--prerequisites=false")
	}
	for _, kind := range s.PrerequisiteKinds {
		flags = append(flags, "--prerequisite-kinds", plain.ShellQuote(kind))
	}
	for _, folder := range s.Charts {
		flags = append(flags, "--chart", plain.ShellQuote(folder))
	}
	return flags
}
