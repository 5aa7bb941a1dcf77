package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/internal/hookrun"
	"github.com/ordapply/ordapply/internal/hooks"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// markHooks marks the inputs that are Helm's hooks, which run around the plan. Where
// Argo CD's annotations are the frame they are a part of it, in its phases.
func markHooks(inputs []apply.Input, options ordering.Options) []apply.Input {
	if !options.RunHooks {
		return inputs
	}
	metas := make([]ordering.Resource, len(inputs))
	for i, in := range inputs {
		metas[i] = ordering.Resource{Meta: object.Meta{Annotations: in.Object.GetAnnotations()}}
	}
	if ordering.HooksByArgo(metas, options.Frame) {
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

// checkHooks refuses what is a resource of the stream and a hook as well: the hook's
// policies would delete the resource.
func checkHooks(stream *apply.Stream) error {
	var errs []error
	for _, hook := range stream.Hooks {
		if _, twice := stream.Objects[hook.ID]; twice {
			errs = append(errs, fmt.Errorf("%s%s: it is a hook (annotation %s), and the stream holds it without that annotation, too: give one of them another name", hook.ID, at(hook.Source), hooks.EventAnnotation))
		}
	}
	return errors.Join(errs...)
}

// planHooks writes into a plan what runs around it, and what Helm would leave out.
func planHooks(plan *ordering.Plan, stream *apply.Stream) {
	all, dropped := hooks.Read(stream.Hooks)
	plan.Hooks = all.Planned()
	for _, err := range dropped {
		plan.Notes = append(plan.Notes, err.Error())
	}
	if tests := all.Tests(); len(tests) > 0 {
		plan.Notes = append(plan.Notes, fmt.Sprintf("%s of Helm's event test left out: helm test runs those, and apply does not", count(len(tests), "hook")))
	}
}

// applyAround applies a stream that belongs to no apply set, with its hooks around it.
// What the cluster has of it decides whether that is an install or an upgrade.
func (f *applyFlags) applyAround(ctx context.Context, j job, applier apply.Applier, told tellers) (apply.Summary, error) {
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
	return around.Summed(summary), err
}

// hookName is a hook as people read it: "pre-install hook Job shop/migrate".
func hookName(e apply.Event) string { return e.Hook + " hook " + e.ID.String() }

// hookPermissions are those that running a stream's hooks takes: of an apply, or of a
// rollback to it, beside those of further events.
func hookPermissions(stream *apply.Stream, kinds apply.Kinds, diagnosis, rollback bool, more ...hooks.Event) apply.Permissions {
	all, _ := hooks.Read(stream.Hooks)
	events := append(more, hooks.PreInstall, hooks.PostInstall, hooks.PreUpgrade, hooks.PostUpgrade)
	if rollback {
		events = append(more, hooks.PreRollback, hooks.PostRollback)
	}
	return hookrun.Permissions(all, kinds, diagnosis, events...)
}

// deleteAround deletes what manifests name, between their hooks of a deletion, and then
// what hooks of theirs left behind.
func (f *deleteFlags) deleteAround(ctx context.Context, d deletion, told tellers) (apply.Summary, error) {
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
		left, _, err = runner.RemoveLeft(ctx, hooks.PostDelete, all)
		ran = append(ran, left...)
	}
	summary.Hooks = ran
	return summary, err
}

// hookApplier applies the hooks of a deletion.
func (f *deleteFlags) hookApplier(t *target, measured *measure, told func(apply.Event)) apply.Applier {
	return apply.Applier{
		Cluster: measured.of(t.cluster), Timeout: f.timeout, WaveTimeout: orNone(f.waveTimeout), NoDiagnosis: !f.diagnosis, Events: told,
	}
}
