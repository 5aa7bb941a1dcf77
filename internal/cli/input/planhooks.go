package input

import (
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/internal/author/hook"
	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/internal/plan/edges"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// MarkHooks marks the inputs that are hooks, which run around the plan or within it. If Argo
// CD's annotations define the order, Argo CD's rules define them, and the options get its
// order source, also if the rest of the stream has none of its annotations. Helm's hooks
// stay with the resources where the options do not run them.
func MarkHooks(inputs []apply.Input, options *ordering.Options) []apply.Input {
	metas := make([]ordering.Resource, len(inputs))
	for i, in := range inputs {
		metas[i] = ordering.Resource{Meta: object.Meta{Annotations: in.Object.GetAnnotations()}}
	}
	byArgo := edges.ArgoCDRunsHooks(metas, options.OrderSource)
	if !byArgo && !options.RunHooks {
		return inputs
	}
	out := make([]apply.Input, len(inputs))
	for i, in := range inputs {
		annotations := metas[i].Annotations
		in.Hook = hook.IsHook(annotations) && !edges.IsArgoHook(annotations)
		if byArgo {
			in.Hook = hook.IsArgoHook(annotations)
		}
		if in.Hook = in.Hook && !in.CRDFolder; in.Hook && byArgo {
			options.OrderSource = ordering.OrderSourceArgoCD
		}
		out[i] = in
	}
	return out
}

// withoutSyncHooks makes resources of the hooks that only run with the resources of a wave.
func withoutSyncHooks(inputs []apply.Input, options ordering.Options) []apply.Input {
	out := slices.Clone(inputs)
	for i, in := range inputs {
		all, _ := hook.Read([]ordering.Resource{{Meta: object.Meta{Annotations: in.Object.GetAnnotations()}}}, options.OrderSource)
		if len(all) == 1 && slices.Equal(all[0].Events, []hook.Event{hook.Sync}) {
			out[i].Hook = false
		}
	}
	return out
}

// LeaveOutArgoHooks leaves out Argo CD's hooks, or refuses them, where they are not run.
func (s *Source) LeaveOutArgoHooks(stream *apply.Stream, options ordering.Options) (skipped []ordering.Skipped, err error) {
	if options.RunHooks || options.OrderSource != ordering.OrderSourceArgoCD {
		return nil, nil
	}
	var errs []error
	for _, hook := range stream.Hooks {
		why := hookAnnotation(hook) + ": a sync of Argo CD runs it"
		skipped = append(skipped, ordering.Skipped{ID: hook.ID, Why: ordering.Reason{Rule: "hook", Detail: why, Where: hook.Source}})
		if !options.SkipHooks {
			errs = append(errs, fmt.Errorf("%s: %s: remove it from the stream, or skip all such objects with --hooks=skip", hook.Located(), why))
		}
	}
	stream.Hooks = nil
	return skipped, errors.Join(errs...)
}

// hookAnnotation returns the annotation that makes a resource a hook: "annotation KEY: VALUE".
func hookAnnotation(r ordering.Resource) string {
	key := hook.EventAnnotation
	if edges.IsArgoHook(r.Annotations) {
		key = edges.ArgoHook
	}
	return "annotation " + key + ": " + r.Annotations[key]
}

// checkHooks returns errors for resources that are also hooks, because the
// hook's delete policy would delete the resource, and for two hooks of Argo CD that are one
// object.
func checkHooks(stream *apply.Stream, source ordering.OrderSource) error {
	var errs []error
	first := map[object.ID]ordering.Resource{}
	for _, hook := range stream.Hooks {
		if one, twice := first[hook.ID]; twice && source == ordering.OrderSourceArgoCD && !reflect.DeepEqual(one.Object, hook.Object) {
			errs = append(errs, fmt.Errorf("%s: %s is already defined in %s, with different contents: keep one of them", hook.Source, hook.ID, one.Source))
		} else if !twice {
			first[hook.ID] = hook
		}
	}
	for _, hook := range stream.Hooks {
		if _, twice := stream.Objects[hook.ID]; twice {
			errs = append(errs, fmt.Errorf("%s%s: it is a hook (%s), and the stream also contains it without that annotation: rename one of them", hook.ID, at(hook.Source), hookAnnotation(hook)))
		}
	}
	return errors.Join(errs...)
}

// planHooks adds the hooks to a plan, and notes about hooks that do not run.
func planHooks(plan *ordering.Plan, stream *apply.Stream) {
	all, dropped := hook.Read(stream.Hooks, plan.OrderSource)
	plan.Hooks = all.PlannedIn(plan)
	for _, err := range dropped {
		plan.Notes = append(plan.Notes, err.Error())
	}
	if tests := all.Tests(); len(tests) > 0 {
		plan.Notes = append(plan.Notes, fmt.Sprintf("%s of Helm's event test left out: only helm test of a release runs them", plain.Count(len(tests), "hook")))
	}
}
