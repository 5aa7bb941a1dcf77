package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/internal/hookrun"
	"github.com/ordapply/ordapply/internal/hooks"
	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// markHooks marks the inputs that are Helm hooks, which run around the plan. If
// Argo CD's annotations define the order, hooks are part of the plan instead.
func markHooks(inputs []apply.Input, options ordering.Options) []apply.Input {
	if !options.RunHooks {
		return inputs
	}
	metas := make([]ordering.Resource, len(inputs))
	for i, in := range inputs {
		metas[i] = ordering.Resource{Meta: object.Meta{Annotations: in.Object.GetAnnotations()}}
	}
	if ordering.ArgoCDRunsHooks(metas, options.OrderSource) {
		return inputs
	}
	out := make([]apply.Input, len(inputs))
	for i, in := range inputs {
		annotations := metas[i].Annotations
		in.Hook = hooks.IsHook(annotations) && !ordering.IsArgoHook(annotations) && !in.CRDFolder
		out[i] = in
	}
	return out
}

// checkHooks returns errors for resources that are also hooks, because the
// hook's delete policy would delete the resource.
func checkHooks(stream *apply.Stream) error {
	var errs []error
	for _, hook := range stream.Hooks {
		if _, twice := stream.Objects[hook.ID]; twice {
			errs = append(errs, fmt.Errorf("%s%s: it is a hook (annotation %s), and the stream also contains it without that annotation: rename one of them", hook.ID, at(hook.Source), hooks.EventAnnotation))
		}
	}
	return errors.Join(errs...)
}

// planHooks adds the hooks to a plan, and notes about hooks that do not run.
func planHooks(plan *ordering.Plan, stream *apply.Stream) {
	all, dropped := hooks.Read(stream.Hooks)
	plan.Hooks = all.Planned()
	for _, err := range dropped {
		plan.Notes = append(plan.Notes, err.Error())
	}
	if tests := all.Tests(); len(tests) > 0 {
		plan.Notes = append(plan.Notes, fmt.Sprintf("%s of Helm's event test left out: helm test runs them, apply does not", plain.Count(len(tests), "hook")))
	}
}

// applyAround applies a stream without an apply set, with its hooks. It is an
// install or an upgrade depending on whether its objects exist in the cluster.
func (f *applyFlags) applyAround(ctx context.Context, j session, applier apply.Applier, told reporters) (apply.Summary, error) {
	all, _ := hooks.Read(j.stream.Hooks)
	around := &hookrun.Around{
		Runner: hookrun.Runner{Applier: applier, Adopt: f.adopt == "any", Events: told.event},
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

// hookName returns the display name of a hook: "pre-install hook Job
// shop/migrate".
func hookName(e apply.Event) string { return e.Hook + " hook " + e.ID.String() }

// hookPermissions returns the permissions for the hooks of an apply, or of a
// rollback, and of additional events.
func hookPermissions(stream *apply.Stream, kinds kube.Kinds, diagnosis, rollback bool, more ...hooks.Event) kube.Permissions {
	all, _ := hooks.Read(stream.Hooks)
	events := append(more, hooks.PreInstall, hooks.PostInstall, hooks.PreUpgrade, hooks.PostUpgrade)
	if rollback {
		events = append(more, hooks.PreRollback, hooks.PostRollback)
	}
	p := hookrun.Permissions(all, kinds, diagnosis, events...)
	if !rollback && all.OfApply() {
		p.Add(hookrun.OperationPermissions(stream.Resources, kinds))
	}
	return p
}

// deleteAround deletes the objects of manifests, runs their delete hooks before
// and after, and then deletes objects that hooks left behind.
func (f *deleteFlags) deleteAround(ctx context.Context, d deletion, told reporters) (apply.Summary, error) {
	remover := f.remover(d, told.event)
	all, _ := hooks.Read(d.hooks)
	if len(all) == 0 || f.dryRun == "server" {
		return remover.Run(ctx, d.order, d.live)
	}
	runner := hookrun.Runner{Applier: f.hookApplier(d.target, d.measured, told.event), Events: told.event}
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
func (f *deleteFlags) hookApplier(t *target, measured *metricsRecorder, told func(apply.Event)) apply.Applier {
	return apply.Applier{
		Cluster: measured.of(t.cluster), Timeout: f.timeout, WaveTimeout: orNone(f.waveTimeout), NoDiagnosis: !f.diagnosis, Events: told,
	}
}
