package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"strings"
	"time"

	"github.com/ordapply/ordapply/internal/cli/abortable"
	"github.com/ordapply/ordapply/internal/cli/report"
	"github.com/ordapply/ordapply/internal/fleet"
	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/internal/view/events"
	"github.com/ordapply/ordapply/internal/view/terminal"
	"github.com/ordapply/ordapply/operation"
	"github.com/ordapply/ordapply/ordering"
)

// apply plans every cluster, and then applies to them cohort by cohort.
func (r *runner) apply(ctx context.Context, f *fleet.Fleet, op operation.Apply) error {
	show := r.newConsole(f)
	if err := r.prepare(ctx, f.Clusters(), op, show); err != nil {
		return r.refuse(err)
	}
	show.begin()
	stop := context.AfterFunc(ctx, func() { plain.Fprintln(r.out.Err, terminal.Interrupted) })
	defer stop()
	summary := fleet.Coordinator{
		Apply: func(ctx context.Context, c fleet.Cluster) fleet.Result {
			if f.WaitsFor(c) {
				return r.applyTo(ctx, c, op.Followed(), show)
			}
			return r.applyTo(ctx, c, op, show)
		},
		Observe: r.observer(op), Events: show.event,
	}.Run(ctx, f)
	err := summaryError(ctx, summary)
	if op.Report != "" {
		err = errors.Join(err, show.writePage(op.Report, summary, err))
	}
	if r.isJSON() {
		events.Write(r.out.Out, endLine(summary, err, show.started))
		return err
	}
	return errors.Join(err, show.table(r.out.Out, summary))
}

// applyTo runs on one cluster.
func (r *runner) applyTo(ctx context.Context, c fleet.Cluster, op operation.Apply, show *fleetConsole) fleet.Result {
	one := runOn(c, op).ReportTo(func(start events.RunStart) report.Reporter { return show.follow(c.Name, start) })
	err := r.run(ctx, io.Discard, show.messages(c.Name), nil, one.RunOn)
	if err != nil {
		show.failed(c.Name, err)
	}
	return fleet.Result{State: stateOf(err), Unchanged: err == nil && show.unchanged(c.Name), Err: err}
}

// runOn returns the operation for a cluster, with files of its own.
func runOn(c fleet.Cluster, op operation.Apply) operation.Apply {
	op.Cluster = on(c, op.Cluster)
	if op.Report != "" {
		op.Report = fileOf(op.Report, c.Name)
	}
	if op.MetricsFile != "" {
		op.MetricsFile = fileOf(op.MetricsFile, c.Name)
		op.MetricsLabels = maps.Clone(op.MetricsLabels)
		if op.MetricsLabels == nil {
			op.MetricsLabels = map[string]string{}
		}
		op.MetricsLabels["cluster"] = c.Name
	}
	return op
}

// refuse reports a command that applied to no cluster.
func (r *runner) refuse(err error) error {
	if r.isJSON() {
		now := time.Now()
		for _, one := range ordering.FlattenErrors(err) {
			events.Write(r.out.Out, events.NewError("", one, now))
		}
		events.Write(r.out.Out, endLine(fleet.Summary{}, err, time.Time{}))
	}
	return err
}

// endLine returns the last line of a run on a fleet.
func endLine(s fleet.Summary, err error, started time.Time) events.FleetEnd {
	now := time.Now()
	line := events.FleetEnd{Head: events.NewHead(events.TypeFleetEnd, "", now), State: string(stateOf(err)), ExitCode: report.ExitCode(err), Clusters: map[string]int{}}
	if !started.IsZero() {
		line.Seconds = now.Sub(started).Seconds()
	}
	for _, cohort := range s.Cohorts {
		for _, o := range cohort.Clusters {
			line.Clusters[string(o.State)]++
			if o.State == fleet.NotStarted {
				line.NotStarted = append(line.NotStarted, events.Unstarted{Cluster: o.Cluster, Cohort: cohort.Name, Message: o.Why})
			}
		}
	}
	return line
}

// summaryError returns nil if every cluster is done and every cohort passed. Its exit code
// is for an interrupt, for a timeout if nothing else happened, or for a failure.
func summaryError(ctx context.Context, s fleet.Summary) error {
	count := map[fleet.State]int{}
	for _, o := range s.Clusters() {
		count[o.State]++
	}
	var why []string
	gates := 0
	for _, cohort := range s.Cohorts {
		if cohort.State == fleet.Failed {
			why = append(why, fmt.Sprintf("cohort %s failed: %v", cohort.Name, cohort.Err))
			if _, is := errors.AsType[*fleet.GateError](cohort.Err); is {
				gates++
			}
		}
	}
	if left := len(s.Clusters()) - count[fleet.Done]; left > 0 && len(why) == 0 {
		why = append(why, fmt.Sprintf("%d of %s not done", left, plain.Count(len(s.Clusters()), "cluster")))
	}
	switch err := errors.New(strings.Join(why, "; ")); {
	case len(why) == 0 && ctx.Err() == nil:
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("%d of %s done: %w", count[fleet.Done], plain.Count(len(s.Clusters()), "cluster"), abortable.Cause(ctx))
	case count[fleet.Failed] == 0 && gates == 0:
		return report.AsTimeout(err)
	default:
		return err
	}
}
