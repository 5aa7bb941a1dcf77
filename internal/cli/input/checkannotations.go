package input

import (
	"errors"
	"fmt"
	"slices"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/internal/author/keys"
	"github.com/ordapply/ordapply/internal/author/lint"
	"github.com/ordapply/ordapply/internal/cli/connect"
	"github.com/ordapply/ordapply/internal/plan/mutation"
	"github.com/ordapply/ordapply/internal/plan/stamp"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// checkAnnotations checks the ordapply.dev annotations of resources and hooks. It leaves
// out faults that apply.NewStream or, for its resources, the plan reports.
func checkAnnotations(stream *apply.Stream) (faults []error, remarks []string) {
	all := slices.Concat(stream.Resources, stream.Hooks)
	metas := metasOf(all)
	for _, found := range keys.Check(metas) {
		found.On = slices.DeleteFunc(found.On, func(i int) bool {
			return found.Also == keys.Stream || found.Also == keys.Plan && i < len(stream.Resources)
		})
		switch {
		case len(found.On) == 0:
		case found.Remark:
			remarks = append(remarks, annotationText(found, all, metas))
		default:
			faults = append(faults, errors.New(annotationText(found, all, metas)))
		}
	}
	for _, found := range keys.CheckTools(metas) {
		remarks = append(remarks, annotationText(found, all, metas))
	}
	hooked := metasOf(stream.Hooks)
	for _, found := range keys.CheckHooks(hooked) {
		remarks = append(remarks, annotationText(found, stream.Hooks, hooked))
	}
	for _, hook := range stream.Hooks {
		if mutation.Has(hook.Annotations) {
			faults = append(faults, fmt.Errorf("%s%s: annotation %s is not supported on a hook: remove the annotation, or the hook annotation", hook.ID, at(hook.Source), mutation.Annotation))
		}
		if _, _, err := stamp.Read(hook.Annotations); err != nil {
			faults = append(faults, fmt.Errorf("%s%s: %w", hook.ID, at(hook.Source), err))
		}
	}
	return faults, remarks
}

// CheckDeletion checks the annotations of a stream that is to be deleted, and the kinds
// that its options name. Faults that only affect an apply are remarks. Faults that affect
// the deletion's order, or may be meant to keep a resource, are errors.
func CheckDeletion(stream *apply.Stream, options ordering.Options, t *connect.Target) (remarks []string, err error) {
	var faults []error
	for _, found := range annotationsOf(stream) {
		if found.Protects {
			faults = append(faults, fmt.Errorf("%s; it may be intended to keep the resource: nothing was deleted", found.Message))
		} else {
			remarks = append(remarks, found.Message)
		}
	}
	waits := ordering.Options{KindTimeouts: options.KindTimeouts, Excluded: options.Excluded}
	wrong, idle := lint.CheckKinds(stream.Resources, waits, t.ServedKinds())
	for _, err := range wrong {
		remarks = append(remarks, err.Error())
	}
	options.KindTimeouts = nil
	wrong, alsoIdle := lint.CheckKinds(stream.Resources, options, t.ServedKinds())
	return slices.Concat(remarks, idle, alsoIdle), errors.Join(append(faults, wrong...)...)
}

// annotationsOf returns the results for all resources and hooks; each message names the
// resources that have it.
func annotationsOf(stream *apply.Stream) []keys.Found {
	all := slices.Concat(stream.Resources, stream.Hooks)
	metas := metasOf(all)
	found := keys.Check(metas)
	for i, f := range found {
		found[i].Message = annotationText(f, all, metas)
	}
	return found
}

func annotationText(found keys.Found, all []ordering.Resource, metas []object.Meta) string {
	first := all[found.On[0]]
	return fmt.Sprintf("%s%s: %s%s", first.ID, at(first.Source), found.Message, found.Others(metas))
}

func metasOf(all []ordering.Resource) []object.Meta {
	metas := make([]object.Meta, len(all))
	for i, r := range all {
		metas[i] = r.Meta
	}
	return metas
}
