package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/apply/preview"
	"github.com/ordapply/ordapply/internal/cli/input"
	"github.com/ordapply/ordapply/internal/cli/report"
	"github.com/ordapply/ordapply/internal/cli/verbose"
	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/internal/run/wait"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
)

// execute runs a plan on a cluster and reports its events.
func (f *applyFlags) execute(cmd *cobra.Command, j session) error {
	j.plan.Notes = append(j.plan.Notes, j.target.UndiscoveredNotes(j.stream)...)
	j.plan.Notes = append(j.plan.Notes, input.UnknownKindNotes(j.target.Cluster, j.stream, j.plan, f.kindTimeout)...)
	if f.dryRun != "none" {
		j.plan.Notes = append(j.plan.Notes, wait.AbsentNotes(cmd.Context(), kube.NewReadOnly(j.target.Cluster), j.plan)...)
	}
	outputs := report.OpenOutputs(cmd)
	defer outputs.Close(cmd.Context())
	reporters := outputs.Report(cmd, j.target, j.plan, j.files, report.Options{
		Output: f.output, Schedule: j.schedule, DryRun: f.dryRun == "server", WaveTimeout: f.waveTimeout, NoLive: f.NoLive, Quiet: f.Quiet,
	})
	reporters.Begin()
	verbose.Of(cmd.Context()).Plan(j.plan)
	defer reporters.NotifyInterrupt(cmd.Context(), outputs.Err)()
	wayBack := ""
	summary, err := f.apply(cmd.Context(), execution{j, f.applier(j, reporters.Event), reporters, outputs.Err, &wayBack})
	ended, err := j.files.Ended(summary, j.target.Warnings.List(), report.WithTimeout(summary, report.WithInterrupt(cmd.Context(), err)))
	reporters.End(ended)
	if wayBack != "" {
		plain.Fprintln(outputs.Err, wayBack)
	}
	return err
}

// apply applies the stream, to an apply set if one is given.
func (f *applyFlags) apply(ctx context.Context, e execution) (event.Summary, error) {
	if f.Set == "" {
		e.applier.NewNamespace = f.NewNamespace(e.target)
		return f.applyAround(ctx, e)
	}
	run, err := f.openSet(ctx, e)
	if err != nil {
		return event.Summary{}, err
	}
	run.Precondition = e.precondition
	if e.planned != nil {
		run.Check = func(ctx context.Context, preview *preview.Preview, made []object.ID) error {
			return e.planned.Check(ctx, e.target, preview, made)
		}
	}
	switch {
	case f.Rollback:
		f.enableRollback(&run, e)
	case len(e.atomic) > 0:
		enableStackRollback(&run, e)
	}
	return run.Do(ctx)
}

// printClientDryRun prints the plan for --dry-run=client, with --prune including the set's
// prune.
func (f *applyFlags) printClientDryRun(cmd *cobra.Command, j session) error {
	plan := j.plan
	if f.Set != "" && f.Prune {
		applier := apply.Applier{Cluster: j.target.Cluster, Manager: f.fieldManager, Timeout: f.timeout}
		run, err := f.SetFlags.Open(cmd.Context(), j.setJob(), applier, cmd.ErrOrStderr())
		if err != nil {
			return err
		}
		if plan, err = run.PlanWithPrune(cmd.Context()); err != nil {
			return err
		}
	}
	return printPlan(cmd.OutOrStdout(), f.output, plan, func(object.ID) bool { return true })
}

// applyAround applies a stream without an apply set, with its hooks.
func (f *applyFlags) applyAround(ctx context.Context, e execution) (event.Summary, error) {
	prepared, summary, err := e.applier.Prepare(ctx, e.plan, e.stream.Objects)
	if err != nil {
		return summary, err
	}
	if e.planned != nil {
		preview, err := e.applier.Preview(ctx, e.plan, e.stream.Objects)
		if err == nil {
			err = e.planned.Check(ctx, e.target, preview, nil)
		}
		if err != nil {
			return prepared.Abandon(err)
		}
	}
	around := f.AroundWithoutSet(e.setJob(), e.applier)
	summary, err = around.Apply(ctx, prepared)
	if err == nil {
		err = around.Post(ctx, summary)
	}
	if also := around.Fail(ctx, err); also != nil {
		err = errors.Join(err, also)
	}
	return around.WithHookResults(summary), err
}
