package hookrun

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/internal/hooks"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// Around runs the hooks of an operation around an apply.
type Around struct {
	Runner Runner
	Hooks  hooks.Hooks
	Stream *apply.Stream
	// Operation returns which operation the apply is. It is called once,
	// before the first write to the cluster.
	Operation func(context.Context) (hooks.Operation, error)

	operation     hooks.Operation
	results       []apply.Result
	prerequisites []apply.Result // of resources of the stream that were applied before the hooks
}

// Pre runs the hooks before the apply, as apply.Enclosing.First. Their
// dependencies in the stream, and the definitions in the chart's crds
// folder, are applied before them.
func (a *Around) Pre(ctx context.Context) (changed bool, err error) {
	if !a.Hooks.OfApply() {
		return false, nil
	}
	if a.operation, err = a.Operation(ctx); err != nil {
		return false, err
	}
	if len(a.Hooks.Of(a.operation.Pre())) == 0 {
		return false, nil
	}
	if err := a.prepare(ctx); err != nil {
		return true, err
	}
	results, err := a.runner().Run(ctx, a.operation.Pre(), a.Hooks)
	a.results = append(a.results, results...)
	return true, err
}

// Post runs the hooks after the apply.
func (a *Around) Post(ctx context.Context) error {
	if len(a.Hooks) == 0 || a.operation == "" {
		return nil
	}
	results, err := a.runner().Run(ctx, a.operation.Post(), a.Hooks)
	a.results = append(a.results, results...)
	return err
}

// runner hides the values of the stream's Secrets, which hooks may print.
func (a *Around) runner() Runner {
	r := a.Runner
	for _, resource := range a.Stream.Resources {
		r.Applier.Secrets = withSecret(r.Applier.Secrets, resource)
	}
	return r
}

// WithHookResults adds the results of the hooks to the summary of the apply.
func (a *Around) WithHookResults(s apply.Summary) apply.Summary {
	s.Hooks = append(s.Hooks, a.results...)
	for _, early := range a.prerequisites {
		for i := range s.Results {
			if r := &s.Results[i]; r.ID == early.ID && r.Created == "" {
				r.Created = early.Created
			}
		}
	}
	return s
}

// prepare applies what must be applied before the hooks, and waits until it
// is ready.
func (a *Around) prepare(ctx context.Context) error {
	first := hooks.Hooks(a.Hooks.Of(a.operation.Pre())).Prerequisites(a.Stream.Resources)
	if a.operation != hooks.Rollback {
		for id := range a.Stream.BeforeHooks {
			first[id] = true
		}
	}
	if len(first) == 0 {
		return nil
	}
	plan := &ordering.Plan{Waves: []ordering.Wave{{Name: "before the hooks"}}}
	objects := map[object.ID]*unstructured.Unstructured{}
	for _, r := range a.Stream.Resources {
		if first[r.ID] {
			plan.Steps = append(plan.Steps, ordering.Step{ID: r.ID, Source: r.Source, Gate: ordering.Ready})
			objects[r.ID] = a.Stream.Objects[r.ID]
		}
	}
	applier := a.Runner.Applier
	applier.Begin, applier.First, applier.Events, applier.Schedule, applier.SkipWait = nil, nil, nil, apply.Waves, nil
	summary, err := applier.Run(ctx, plan, objects)
	a.prerequisites = summary.Results
	return err
}
