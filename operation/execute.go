package operation

import (
	"context"
	"errors"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/apply/preview"
	"github.com/ordapply/ordapply/internal/cli/console"
	"github.com/ordapply/ordapply/internal/cli/input"
	"github.com/ordapply/ordapply/internal/cli/plan"
	"github.com/ordapply/ordapply/internal/cli/report"
	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/internal/run/wait"
	"github.com/ordapply/ordapply/internal/view/events"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
)

// execute runs a plan on a cluster and reports its events.
func (a *Apply) execute(ctx context.Context, c *console.Console, j session) error {
	j.plan.Notes = append(j.plan.Notes, j.target.UndiscoveredNotes(j.stream)...)
	j.plan.Notes = append(j.plan.Notes, input.UnknownKindNotes(j.target.Cluster, j.stream, j.plan, a.KindTimeout)...)
	if a.DryRun != "none" {
		j.plan.Notes = append(j.plan.Notes, wait.AbsentNotes(ctx, kube.NewReadOnly(j.target.Cluster), j.plan)...)
	}
	outputs := report.OpenOutputs(c)
	defer outputs.Close(ctx)
	from := j.metadata.Revision.OfRollback(j.metadata.Revision.Rollback)
	reporters := outputs.Report(ctx, c, j.target, j.plan, j.files, report.Options{
		Origin: events.Origin{SetName: events.SetName{ApplySet: a.Set}, Commit: from.Commit, Message: from.Message},
		Output: a.Output, Schedule: j.schedule, Rollback: j.metadata.Revision.Rollback > 0, DryRun: a.DryRun == "server", WaveTimeout: a.WaveTimeout, NoLive: a.NoLive, Quiet: a.Quiet, To: a.to, NoProgress: a.NoProgress,
	})
	reporters.Begin()
	c.Log.Plan(j.plan)
	defer reporters.NotifyInterrupt(ctx, c, outputs.Err)()
	wayBack := ""
	summary, err := a.apply(ctx, execution{j, a.applier(j, reporters.Event), reporters, reporters.Messages(outputs.Err), &wayBack})
	ended, err := j.files.Ended(summary, j.target.Warnings.List(), report.WithTimeout(summary, report.WithInterrupt(ctx, err)))
	reporters.End(ended)
	if wayBack != "" {
		plain.Fprintln(outputs.Err, wayBack)
	}
	return err
}

// apply applies the stream, to an apply set if one is given.
func (a *Apply) apply(ctx context.Context, e execution) (event.Summary, error) {
	if a.Set == "" {
		e.applier.NewNamespace = newNamespace(a.Membership, e.target)
		return a.applyAround(ctx, e)
	}
	run, err := a.openSet(ctx, e)
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
	case a.RollbackOnFailure:
		a.enableRollback(&run, e)
	case len(e.atomic) > 0:
		enableStackRollback(&run, e)
	}
	return run.Do(ctx)
}

// printClientDryRun prints the plan for --dry-run=client, with --prune including the set's
// prune.
func (a *Apply) printClientDryRun(ctx context.Context, c *console.Console, j session) error {
	planned := j.plan
	if a.Set != "" && a.Prune {
		applier := apply.Applier{Cluster: j.target.Cluster, Manager: a.FieldManager, Timeout: a.Timeout}
		run, err := a.setRun(j, c.Err).open(ctx, applier)
		if err != nil {
			return err
		}
		if planned, err = run.PlanWithPrune(ctx); err != nil {
			return err
		}
	}
	return printPlan(c.Out, a.Output, planned, plan.StyleFor(c, true), func(object.ID) bool { return true })
}

// applyAround applies a stream without an apply set, with its hooks.
func (a *Apply) applyAround(ctx context.Context, e execution) (event.Summary, error) {
	around := a.setRun(e.session, e.notes).around(e.applier)
	around.Last = !a.followed
	prepared, summary, err := around.Prepare(ctx)
	if err != nil {
		return summary, err
	}
	if err := a.checkOrder(e, prepared.Existing(), nil); err != nil {
		return prepared.Abandon(err)
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
	summary, err = around.Apply(ctx, prepared)
	if err == nil {
		err = around.Post(ctx, summary)
	}
	if also := around.Fail(ctx, err); also != nil {
		err = errors.Join(err, also)
	}
	return around.WithHookResults(summary), err
}
