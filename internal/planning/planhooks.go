package planning

import (
	"errors"
	"fmt"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/internal/declared"
	"github.com/ordapply/ordapply/internal/hooks"
	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// MarkHooks marks the inputs that are Helm hooks, which run around the plan. If
// Argo CD's annotations define the order, hooks are part of the plan instead.
func MarkHooks(inputs []apply.Input, options ordering.Options) []apply.Input {
	if !options.RunHooks {
		return inputs
	}
	metas := make([]ordering.Resource, len(inputs))
	for i, in := range inputs {
		metas[i] = ordering.Resource{Meta: object.Meta{Annotations: in.Object.GetAnnotations()}}
	}
	if declared.ArgoCDRunsHooks(metas, options.OrderSource) {
		return inputs
	}
	out := make([]apply.Input, len(inputs))
	for i, in := range inputs {
		annotations := metas[i].Annotations
		in.Hook = hooks.IsHook(annotations) && !declared.IsArgoHook(annotations) && !in.CRDFolder
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
