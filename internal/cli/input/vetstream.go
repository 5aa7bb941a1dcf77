package input

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/fn"
	"github.com/ordapply/ordapply/internal/author/hook"
	"github.com/ordapply/ordapply/internal/author/lint"
	"github.com/ordapply/ordapply/internal/cli/console"
	"github.com/ordapply/ordapply/ordering"
)

// Vet returns all findings about a stream, problems first.
func (o *Offline) Vet(ctx context.Context, c *console.Console) ([]lint.Finding, error) {
	o.Findings = &fn.Findings{}
	inputs, options, wrong := o.readParts(ctx, c)
	if wrong != nil && (len(inputs) == 0 || ctx.Err() != nil) {
		return nil, wrong
	}
	stream, err := apply.NewStream(MarkHooks(inputs, &options), o.Scope())
	faults, unused := checkAnnotations(stream)
	ordered, notes, switchErr := o.switches(stream, &options)
	wrongKinds, idleKinds := lint.CheckKinds(stream.Resources, options, nil)
	_, refused := o.LeaveOutArgoHooks(stream, options)
	around, dropped := hook.Read(stream.Hooks, options.OrderSource)
	dropped = slices.DeleteFunc(dropped, func(err error) bool { return errors.Is(err, hook.ErrNotRun) })
	for _, hook := range slices.Concat(around.Of(hook.PreInstall), around.Of(hook.PreUpgrade), around.Of(hook.PreSync)) {
		options.Before = append(options.Before, hook.Resource)
	}
	all := slices.Concat([]error{wrong, err, refused, checkHooks(stream, options.OrderSource)}, faults, []error{switchErr, o.checkAtomic(options.Stacks, ordered)}, wrongKinds, dropped)
	var problems, remarks []lint.Finding
	for _, fault := range ordering.FlattenErrors(errors.Join(all...)) {
		problems = append(problems, lint.Finding{Problem: true, Text: fault.Error()})
	}
	for _, text := range slices.Concat(unused, notes, idleKinds) {
		remarks = append(remarks, lint.Finding{Text: text})
	}
	for _, f := range *o.Findings {
		if f.Severity == fn.Warning {
			remarks = append(remarks, lint.Finding{Text: strings.TrimPrefix(f.String(), "warning: ")})
		}
	}
	found := lint.Check(stream.Resources, stream.PlanOptions(options))
	for _, note := range stream.Notes() {
		found = append(found, lint.Finding{Text: note})
	}
	return slices.Concat(problems, found, remarks), nil
}
