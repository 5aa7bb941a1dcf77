package hooks

import (
	"context"
	"errors"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/internal/author/hook"
	"github.com/ordapply/ordapply/internal/run/preflight"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// Around runs the hooks of an operation around an apply.
type Around struct {
	Runner Runner
	Hooks  hook.Hooks
	Stream *apply.Stream
	Plan   *ordering.Plan // of the apply
	// Last is set when nothing follows the apply and its hooks, see apply.Hooks.
	Last bool
	// Begun is the apply, if it was begun; default: Prepare begins it.
	Begun *apply.Begun
	// Operation returns the operation of the apply. It is called once, before the
	// first write to the cluster.
	Operation func(context.Context) (hook.Operation, error)

	operation     hook.Operation
	before        []event.Result // of the hooks before the apply
	results       []event.Result // of hooks after it
	prerequisites []event.Result // of resources of the stream that were applied before the hooks
	confirmed     []event.Result // of resources that the hooks after the apply made ready
}

// Prepare prepares the apply, as apply.Applier.Prepare does, and checks the fields of the hooks of
// an apply with those of the plan, so that one that would be refused after the apply is found before
// the first write. With KeepGoing each hook is checked when its turn comes.
func (a *Around) Prepare(ctx context.Context) (*apply.Prepared, event.Summary, error) {
	begun := a.Begun
	if begun == nil {
		begun = a.Runner.Applier.Begin(a.Plan, a.Stream.Objects)
	}
	prepared, summary, err := begun.Prepare(ctx)
	if a.Runner.Applier.KeepGoing || ctx.Err() != nil {
		return prepared, summary, err
	}
	wrong := errors.Join(a.fieldErrors(ctx, a.Hooks.EventsOfApply())...)
	switch {
	case wrong == nil:
		return prepared, summary, err
	case err != nil:
		return nil, summary, errors.Join(err, wrong)
	}
	summary, err = prepared.Abandon(wrong)
	return nil, summary, err
}

// fieldErrors returns an error for each hook of some events that the API server refuses because of
// its fields.
func (a *Around) fieldErrors(ctx context.Context, events []hook.Event) []error {
	var manifests []*unstructured.Unstructured
	var unsent []*event.Error // of the manifests, without a cause
	for _, h := range a.Hooks {
		if at := slices.IndexFunc(h.Events, func(e hook.Event) bool { return slices.Contains(events, e) }); at >= 0 {
			manifests = append(manifests, &unstructured.Unstructured{Object: h.Object})
			unsent = append(unsent, &event.Error{Wave: string(h.Events[at]) + " hook", Op: event.OpApply, ID: h.ID})
		}
	}
	applier := a.Runner.Applier
	check := preflight.HookFieldErrors(ctx, applier.Schemas, kube.KindsOf(applier.Cluster), manifests)
	var errs []error
	for i, failure := range unsent {
		if failure.Err = check(manifests[i]); failure.Err != nil {
			errs = append(errs, failure)
		}
	}
	return errs
}

// Apply runs the hooks before the apply, and then the apply itself with the hooks of its waves.
// A dry run runs none of them.
func (a *Around) Apply(ctx context.Context, prepared *apply.Prepared) (event.Summary, error) {
	if a.Runner.Applier.DryRun {
		return prepared.Run(ctx, apply.Hooks{})
	}
	changed, err := a.pre(ctx)
	if err != nil {
		return prepared.Abandon(err)
	}
	if changed {
		prepared.Reread()
	}
	return prepared.Run(ctx, apply.Hooks{Within: a.within, Then: a.next(), Last: a.Last})
}

// pre runs the hooks before the apply, and reports whether it may have changed the cluster. Their
// dependencies in the stream, and the definitions in the chart's crds
// folder, are applied before them.
func (a *Around) pre(ctx context.Context) (changed bool, err error) {
	if !a.Hooks.OfApply() {
		return false, nil
	}
	if a.operation, err = a.operationNow(ctx); err != nil {
		return false, err
	}
	a.Hooks = a.Hooks.Named(time.Now())
	if err := a.takeLeftovers(ctx); err != nil {
		return false, err
	}
	if len(a.Hooks.Of(a.preEvent())) == 0 {
		return false, nil
	}
	if err := a.prepare(ctx); err != nil {
		return true, err
	}
	a.before, err = a.runner().Run(ctx, a.preEvent(), a.Hooks)
	return true, err
}

// operationNow returns the operation of the apply. For Argo CD each is a sync, so it does not
// matter.
func (a *Around) operationNow(ctx context.Context) (hook.Operation, error) {
	if a.Hooks.AreArgo() {
		return hook.Upgrade, nil
	}
	return a.Operation(ctx)
}

// events returns the events of the apply, in their order.
func (a *Around) events(ctx context.Context) ([]hook.Event, error) {
	if a.Hooks.AreArgo() {
		return hook.OfSync(), nil
	}
	operation, err := a.Operation(ctx)
	return []hook.Event{operation.Pre(), operation.Post()}, err
}

func (a *Around) preEvent() hook.Event  { return a.Hooks.Pre(a.operation) }
func (a *Around) postEvent() hook.Event { return a.Hooks.Post(a.operation) }

// next names the hooks that follow the apply, as apply.Hooks.Then.
func (a *Around) next() string {
	if a.operation == "" || len(a.Hooks.Of(a.postEvent())) == 0 {
		return ""
	}
	return "the " + string(a.postEvent()) + " hooks"
}

// Post runs the hooks after the apply, and then waits for resources that only these make ready:
// the plan's, and the apply's unready ones.
func (a *Around) Post(ctx context.Context, applied event.Summary) error {
	if len(a.Hooks) == 0 || a.operation == "" {
		return nil
	}
	results, err := a.runner().Run(ctx, a.postEvent(), a.Hooks)
	a.results = append(a.results, results...)
	if err != nil {
		return err
	}
	if err := a.confirm(ctx, applied); err != nil {
		return err
	}
	return a.succeeded(ctx)
}

// confirm waits for the steps of the plan that the hooks were to make ready.
func (a *Around) confirm(ctx context.Context, applied event.Summary) error {
	unready := map[object.ID]bool{}
	for _, r := range applied.Results {
		unready[r.ID] = r.Unready
	}
	plan, objects := a.part("after the hooks", func(s ordering.Step) bool { return s.AfterHooks || unready[s.ID] })
	if len(plan.Steps) == 0 {
		return nil
	}
	run := &hookRun{Runner: a.runner(), event: a.postEvent()}
	applier := a.alone()
	applier.Events, applier.SkipWait = run.emit, a.Runner.Applier.SkipWait
	summary, err := applier.Run(ctx, plan, objects)
	a.confirmed = summary.Results
	return run.setErrorWave(err)
}

// runner returns the runner of hooks whose fields Prepare has checked. It hides the values of the
// stream's Secrets, which hooks may print.
func (a *Around) runner() Runner {
	r := a.Runner
	r.FieldsChecked = !r.Applier.KeepGoing
	for _, resource := range a.Stream.Resources {
		r.Applier.Secrets = withSecret(r.Applier.Secrets, resource)
	}
	return r
}

// WithHookResults adds the results of the hooks to the summary of the apply.
func (a *Around) WithHookResults(s event.Summary) event.Summary {
	s.Hooks = slices.Concat(a.before, s.Hooks, a.results)
	for i := range s.Results {
		r := &s.Results[i]
		for _, early := range a.prerequisites {
			if r.ID == early.ID && r.Created == "" {
				r.Created = early.Created
			}
		}
		for _, late := range a.confirmed {
			if r.ID == late.ID {
				r.State, r.Waiting, r.Detail, r.Err, r.Unready = late.State, late.Waiting, late.Detail, late.Err, false
			}
		}
	}
	return s
}

// prepare applies the prerequisites of the hooks, and waits until they are ready.
func (a *Around) prepare(ctx context.Context) error {
	first := hook.Hooks(a.Hooks.Of(a.preEvent())).Prerequisites(a.Stream.Resources)
	if a.operation != hook.Rollback {
		for id := range a.Stream.BeforeHooks {
			first[id] = true
		}
	}
	if len(first) == 0 {
		return nil
	}
	plan, objects := a.part("before the hooks", func(s ordering.Step) bool { return first[s.ID] })
	summary, err := a.alone().Run(ctx, plan, objects)
	a.prerequisites = summary.Results
	return err
}

// part returns a plan of one wave with some steps of the apply.
func (a *Around) part(name string, has func(ordering.Step) bool) (*ordering.Plan, map[object.ID]*unstructured.Unstructured) {
	plan := &ordering.Plan{Waves: []ordering.Wave{{Name: name}}}
	objects := map[object.ID]*unstructured.Unstructured{}
	for _, s := range a.Plan.Steps {
		if has(s) {
			plan.Steps = append(plan.Steps, ordering.Step{ID: s.ID, Source: s.Source, Gate: ordering.Ready, Timeout: s.Timeout, FailsOpen: s.FailsOpen})
			objects[s.ID] = a.Stream.Objects[s.ID]
		}
	}
	return plan, objects
}

// alone returns the applier of the apply, for a run beside it.
func (a *Around) alone() apply.Applier {
	applier := a.Runner.Applier
	applier.Events, applier.Schedule, applier.SkipWait = nil, apply.Waves, nil
	return applier
}
