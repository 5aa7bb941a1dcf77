package main

import (
	"context"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/internal/connect"
	"github.com/ordapply/ordapply/internal/hookrun"
	"github.com/ordapply/ordapply/internal/hooks"
	"github.com/ordapply/ordapply/internal/report"
)

// applyAround applies a stream without an apply set, with its hooks. It is an
// install or an upgrade depending on whether its objects exist in the cluster.
func (f *applyFlags) applyAround(ctx context.Context, j session, applier apply.Applier, told *report.Reporters) (apply.Summary, error) {
	all, _ := hooks.Read(j.stream.Hooks)
	around := &hookrun.Around{
		Runner: hookrun.Runner{Applier: applier, Adopt: f.Adopt == "any", Events: told.Event},
		Hooks:  all, Stream: j.stream,
		Operation: func(ctx context.Context) (hooks.Operation, error) {
			operation, _, err := hookrun.OperationOf(ctx, applier.Cluster, j.stream)
			return operation, err
		},
	}
	applier.First = around.Pre
	summary, err := applier.Run(ctx, j.plan, j.stream.Objects)
	if err == nil {
		err = around.Post(ctx)
	}
	return around.WithHookResults(summary), err
}

// deleteAround deletes the objects of manifests, runs their delete hooks before
// and after, and then deletes objects that hooks left behind.
func (f *deleteFlags) deleteAround(ctx context.Context, d deletion, told *report.Reporters) (apply.Summary, error) {
	remover := f.remover(d, told.Event)
	all, _ := hooks.Read(d.hooks)
	if len(all) == 0 || f.dryRun == "server" {
		return remover.Run(ctx, d.order, d.live)
	}
	runner := hookrun.Runner{Applier: f.hookApplier(d.target, d.files, told.Event), Events: told.Event}
	ran, err := runner.Run(ctx, hooks.PreDelete, all)
	if err != nil {
		return apply.Summary{Hooks: ran}, err
	}
	summary, err := remover.Run(ctx, d.order, d.live)
	if err == nil {
		var after []apply.Result
		after, err = runner.Run(ctx, hooks.PostDelete, all)
		ran = append(ran, after...)
	}
	if err == nil {
		var left []apply.Result
		left, err = runner.RemoveLeftovers(ctx, all)
		ran = append(ran, left...)
	}
	summary.Hooks = ran
	return summary, err
}

// hookApplier returns the Applier for the hooks of a deletion.
func (f *deleteFlags) hookApplier(t *connect.Target, files *report.Files, told func(apply.Event)) apply.Applier {
	return apply.Applier{
		Cluster: files.Of(t.Cluster), Timeout: f.timeout, WaveTimeout: orNone(f.waveTimeout), NoDiagnosis: !f.diagnosis, Events: told,
	}
}
