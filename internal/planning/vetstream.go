package planning

import (
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/fn"
	"github.com/ordapply/ordapply/internal/hooks"
	"github.com/ordapply/ordapply/internal/kindnames"
	"github.com/ordapply/ordapply/internal/vet"
	"github.com/ordapply/ordapply/ordering"
)

// Vet returns all findings about a stream, problems first.
func (o *Offline) Vet(cmd *cobra.Command) ([]vet.Finding, error) {
	o.Findings = &fn.Findings{}
	inputs, options, wrong := readParts(cmd, &o.InputFlags, &o.PlanFlags)
	if wrong != nil && (len(inputs) == 0 || cmd.Context().Err() != nil) {
		return nil, wrong
	}
	stream, err := apply.NewStream(MarkHooks(inputs, &options), o.Scope())
	faults, unused := checkAnnotations(stream)
	ordered, notes, switchErr := o.switches(stream, &options)
	wrongKinds, idleKinds := kindnames.Check(stream.Resources, options, nil)
	_, refused := o.LeaveOutArgoHooks(stream, options)
	around, dropped := hooks.Read(stream.Hooks, options.OrderSource)
	dropped = slices.DeleteFunc(dropped, func(err error) bool { return errors.Is(err, hooks.ErrNotRun) })
	for _, hook := range slices.Concat(around.Of(hooks.PreInstall), around.Of(hooks.PreUpgrade), around.Of(hooks.PreSync)) {
		options.Before = append(options.Before, hook.Resource)
	}
	all := slices.Concat([]error{wrong, err, refused, checkHooks(stream, options.OrderSource)}, faults, []error{switchErr, o.checkAtomic(options.Stacks, ordered)}, wrongKinds, dropped)
	var problems, remarks []vet.Finding
	for _, fault := range ordering.FlattenErrors(errors.Join(all...)) {
		problems = append(problems, vet.Finding{Problem: true, Text: fault.Error()})
	}
	for _, text := range slices.Concat(unused, notes, idleKinds) {
		remarks = append(remarks, vet.Finding{Text: text})
	}
	for _, f := range *o.Findings {
		if f.Severity == fn.Warning {
			remarks = append(remarks, vet.Finding{Text: strings.TrimPrefix(f.String(), "warning: ")})
		}
	}
	return slices.Concat(problems, stream.Vet(options), remarks), nil
}
