// Package hooks runs the hooks of one event on a cluster, one after the other, as
// Helm does: objects that a policy deletes go first, the hook is applied, a Job or a Pod is
// waited for, and in the end the policies for success or failure are applied.
//
//	ran, err := hooks.Runner{Applier: applier, Owner: set}.Run(ctx, hook.PreInstall, all)
//
// It differs from Helm where Helm is a hazard: an object that no run of the same owner
// made is never deleted nor overwritten, an old Job never counts as a new one, and an
// object that is being deleted is waited for. docs/hooks.md lists the differences.
package hooks

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/apply"
	applyevent "github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/apply/remove"
	"github.com/ordapply/ordapply/applyset"
	authorhook "github.com/ordapply/ordapply/internal/author/hook"
	"github.com/ordapply/ordapply/internal/kube/fault"
	"github.com/ordapply/ordapply/internal/live/recreate"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// OwnerAnnotation marks the object of a hook with the owner of the run that made it: the id of
// an apply set, or NoSet. An object without it is not ours to delete.
const OwnerAnnotation = "ordapply.dev/hook-of"

// NoSet is the owner of hooks of a stream that belongs to no apply set.
const NoSet = "none"

// Runner runs hooks.
type Runner struct {
	// Applier applies each hook, by itself. Its WaveTimeout bounds the wait for each
	// hook and for each deletion. Its Membership, Schedule, Sent and Health are not used: a hook
	// is not a member, and is done when Helm counts it as done. The Secrets of the hooks are
	// added to its Secrets.
	Applier apply.Applier
	// Owner is the id of the apply set; default NoSet.
	Owner string
	// Adopt lets objects that no run of ours made be deleted and overwritten.
	Adopt bool
	// ReplaceMembers lets members of other sets be deleted and overwritten.
	ReplaceMembers bool
	// FieldsChecked says that the fields of the hooks were checked before the run. Then only those of
	// custom resources are checked when their turn comes.
	FieldsChecked bool
	// KeepLeftovers leaves the leftovers of a Helm release's hooks to the release, also if the
	// release moves over.
	KeepLeftovers bool
	// Events takes every transition of every hook, and before the first of them one
	// without an ID, with the number of hooks; default: discard.
	Events func(applyevent.Event)
}

// hookRun is one event in progress.
type hookRun struct {
	Runner
	event   authorhook.Event
	results []applyevent.Result
	sparing bool // protected objects and members of other sets stay
}

// Run runs the hooks of an event in their order. The results are of the hooks that began. The
// first failure ends it: the error holds an *event.Error, whose Wave names the event. Without
// hooks of the event nothing is done. The hooks of a deletion whose Namespace is gone are
// skipped.
func (r Runner) Run(ctx context.Context, event authorhook.Event, all authorhook.Hooks) ([]applyevent.Result, error) {
	run := &hookRun{Runner: r, event: event}
	for _, hook := range all {
		run.Applier.Secrets = withSecret(run.Applier.Secrets, hook.Resource)
	}
	list := run.possible(ctx, all.Of(event))
	if len(list) > 0 && r.Events != nil {
		r.Events(applyevent.Event{Time: time.Now(), Op: applyevent.OpApply, Hook: &applyevent.Hook{Event: string(event), Count: len(list)}, State: applyevent.Applying})
	}
	for n, batch := range authorhook.Batches(list, event) {
		applied, err := run.runBatch(ctx, batch)
		if err == nil {
			continue
		}
		if hook := batch[0]; !hook.Argo && applied && ctx.Err() == nil { // Helm cleans nothing up after a hook that was refused
			run.showLogs(ctx, hook, authorhook.OnFailure)
			err = errors.Join(err, run.cleanUp(ctx, hook, list[:n]))
		}
		return run.results, err
	}
	if authorhook.Hooks(list).AreArgo() { // its policies apply at the end of the sync, see sync.go
		return run.results, nil
	}
	for _, hook := range slices.Backward(list) {
		run.showLogs(ctx, hook, authorhook.OnSuccess)
		if hook.HasPolicy(authorhook.OnSuccess) {
			if err := run.remove(ctx, hook); err != nil {
				return run.results, err
			}
		}
	}
	return run.results, nil
}

// runBatch runs hooks at once, and reports whether one was applied. Room is made for all of
// them first.
func (r *hookRun) runBatch(ctx context.Context, batch []authorhook.Hook) (applied bool, err error) {
	for _, hook := range batch {
		live, err := find(ctx, r.Applier.Cluster, hook)
		if err != nil && ctx.Err() == nil { // else the run of its own says how it was ended
			return false, r.fail(hook, applyevent.OpApply, err)
		}
		if live != nil {
			if err := r.prepareObject(ctx, hook, live); err != nil {
				return false, err
			}
		}
	}
	plan, objects := hookPlan(batch, r.owner())
	ungated := map[object.ID]bool{}
	for _, step := range plan.Steps {
		ungated[step.ID] = step.Gate == ordering.Applied
	}
	a := r.Applier
	a.Membership, a.Sent, a.Schedule = applyset.Membership{}, nil, apply.Waves
	if r.FieldsChecked && !slices.ContainsFunc(batch, func(hook authorhook.Hook) bool { return !object.IsNative(hook.Group) }) {
		a.Schemas = nil
	}
	a.Health = r.assessor(batch)
	a.SkipWait = func(id object.ID) bool { return ungated[id] }
	a.Events = r.emit
	summary, err := a.Run(ctx, plan, objects)
	r.add(summary.Results)
	return slices.ContainsFunc(summary.Results, func(result applyevent.Result) bool { return !result.Applied.IsZero() }), r.setErrorWave(err)
}

// prepareObject makes room for a hook. It waits until a terminating object of its ID
// is gone, and deletes an object that a policy says to delete or that would
// count as the new one. It fails when no run of this owner made the object.
func (r *hookRun) prepareObject(ctx context.Context, hook authorhook.Hook, live *unstructured.Unstructured) error {
	switch {
	case live.GetDeletionTimestamp() != nil:
		return r.delete(ctx, hook, live)
	case !r.mayReplace(hook, live):
		return r.fail(hook, applyevent.OpApply, r.foreign(hook, live))
	case hook.IsKept():
		return nil
	case hook.HasPolicy(authorhook.BeforeCreation), hook.RunsOnce():
		if err := r.checkReplacement(ctx, hook, live); err != nil {
			return r.fail(hook, applyevent.OpApply, err)
		}
		return r.delete(ctx, hook, live)
	}
	return nil
}

// checkReplacement returns an error when the API server would reject the new object of a hook,
// so that the old one is not deleted for it. A Job or Pod that has ended is no loss.
func (r *hookRun) checkReplacement(ctx context.Context, hook authorhook.Hook, live *unstructured.Unstructured) error {
	_, objects := hookPlan([]authorhook.Hook{hook}, r.owner())
	kind, served := r.Applier.Cluster.Kind(objects[hook.ID].GroupVersionKind())
	if hook.RunsOnce() || !served {
		return nil
	}
	err := recreate.DryRunCreate(ctx, r.Applier.Cluster, kind, objects[hook.ID], live)
	if err == nil || fault.LacksVerb(err, "create") { // an account may have rights for this name only
		return nil
	}
	return fmt.Errorf("the old object is not deleted, because the API server would reject the new one: %w", fault.Explain(err))
}

// cleanUp applies the policies after the failure of a hook: its own, and then the policies of
// earlier hooks, which succeeded.
func (r *hookRun) cleanUp(ctx context.Context, failed authorhook.Hook, before []authorhook.Hook) error {
	var errs []error
	if failed.HasPolicy(authorhook.OnFailure) {
		errs = append(errs, r.remove(ctx, failed))
	}
	for _, hook := range before {
		if hook.HasPolicy(authorhook.OnSuccess) {
			errs = append(errs, r.remove(ctx, hook))
		}
	}
	return errors.Join(errs...)
}

// remove deletes the object of a hook, if it exists and a run of this owner
// made it.
func (r *hookRun) remove(ctx context.Context, hook authorhook.Hook) error {
	if hook.IsKept() {
		return nil
	}
	live, err := find(ctx, r.Applier.Cluster, hook)
	switch {
	case err != nil:
		return r.fail(hook, applyevent.OpDelete, err)
	case live == nil || !r.IsOwn(live):
		return nil
	case r.sparing && r.isSpared(live):
		return nil
	}
	return r.delete(ctx, hook, live)
}

// delete deletes a live object and waits until it is gone. A Namespace that holds
// anything else is kept, which is no failure.
func (r *hookRun) delete(ctx context.Context, hook authorhook.Hook, live *unstructured.Unstructured) error {
	a := r.Applier
	remover := remove.Remover{
		Cluster: a.Cluster, Timeout: a.Timeout, WaveTimeout: a.WaveTimeout, Unprotected: true, NoPruneOption: true, NoDiagnosis: a.NoDiagnosis,
		Events: r.emit,
	}
	order := &ordering.Deletion{Steps: []ordering.DeletionStep{{ID: hook.ID}}, Waves: 1}
	summary, err := remover.Run(ctx, order, map[object.ID]*unstructured.Unstructured{hook.ID: live})
	if err != nil {
		r.add(summary.Results)
	}
	return r.setErrorWave(err)
}

// add adds results of the event.
func (r *hookRun) add(results []applyevent.Result) {
	for _, result := range results {
		result.Hook = string(r.event)
		r.results = append(r.results, result)
	}
}

// emit passes on a transition of a hook, without its wave: a hook has none.
func (r *hookRun) emit(e applyevent.Event) {
	if e.ID == (object.ID{}) || r.Events == nil {
		return
	}
	e.Hook, e.Wave, e.Layer = &applyevent.Hook{Event: string(r.event)}, 0, ""
	r.Events(e)
}

// title names the event in errors, in place of a wave.
func (r *hookRun) title() string { return string(r.event) + " hook" }

// fail returns the failure of a hook for which nothing was sent.
func (r *hookRun) fail(hook authorhook.Hook, op applyevent.Op, err error) error {
	failure := &applyevent.Error{Wave: r.title(), Op: op, ID: hook.ID, Err: err}
	r.add([]applyevent.Result{{ID: hook.ID, State: applyevent.Failed, Err: failure}})
	r.emit(applyevent.Event{Time: time.Now(), Op: op, ID: hook.ID, State: applyevent.Failed, Detail: err.Error(), Err: failure})
	return failure
}

// setErrorWave writes the event into the errors of a run.
func (r *hookRun) setErrorWave(err error) error {
	switch failure := err.(type) { //nolint:errorlint // each joined error is looked at
	case *applyevent.Error:
		failure.Wave = r.title()
	case interface{ Unwrap() []error }:
		for _, one := range failure.Unwrap() {
			_ = r.setErrorWave(one)
		}
	}
	return err
}

// withSecret returns secrets with a resource added, if that is a Secret.
func withSecret(secrets []*unstructured.Unstructured, r ordering.Resource) []*unstructured.Unstructured {
	if r.GroupKind() != "Secret" {
		return secrets
	}
	return append(slices.Clip(secrets), &unstructured.Unstructured{Object: r.Object})
}

// hookPlan returns the plan of hooks that run at once: hooks of one kind are applied together,
// after the kinds before it.
func hookPlan(batch []authorhook.Hook, owner string) (*ordering.Plan, map[object.ID]*unstructured.Unstructured) {
	plan, objects := &ordering.Plan{Waves: []ordering.Wave{{}}}, map[object.ID]*unstructured.Unstructured{}
	var before, alike []ordering.Need // of the kind before, and of this kind
	for i, hook := range batch {
		obj := (&unstructured.Unstructured{Object: hook.Object}).DeepCopy()
		marks := obj.GetAnnotations()
		marks[OwnerAnnotation] = owner // there are annotations: one makes it a hook
		obj.SetAnnotations(marks)
		objects[hook.ID] = obj
		if i > 0 && batch[i-1].Kind != hook.Kind {
			before, alike = alike, nil
		}
		step := ordering.Step{ID: hook.ID, Source: hook.Source, Gate: ordering.Ready, Needs: before}
		if !hook.IsAwaited() && !hook.IsKept() {
			step.Gate = ordering.Applied
		}
		plan.Steps = append(plan.Steps, step)
		alike = append(alike, ordering.Need{ID: hook.ID, Gate: ordering.Applied})
	}
	return plan, objects
}
