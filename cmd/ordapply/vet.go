package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/fn"
	"github.com/ordapply/ordapply/internal/hooks"
	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/ordering"
)

func newVet() *cobra.Command {
	var in offline
	var strict bool
	cmd := &cobra.Command{
		Use:   "vet -f FILE",
		Short: "Check a stream and its order for mistakes, without a cluster",
		Long: `vet reports everything at once: selectors that can never win, declarations that
name nothing, cycles, resources placed after their dependents, misspelt names,
ordapply.dev/ annotations that are unknown or have an invalid value; and, as
remarks, references to resources outside the stream, inferred edges that had to be
dropped, selectors that match nothing, workloads that go last because no selector
matches them, and layers that could be merged. It exits with 1 when there is a
problem; with --strict, also when there is a remark.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			found, err := in.vet(cmd)
			if err != nil {
				return err
			}
			return report(cmd, found, strict)
		},
	}
	in.register(cmd)
	cmd.Flags().BoolVar(&strict, "strict", false, "fail on remarks too")
	return cmd
}

// vet returns all findings about a stream, problems first.
func (o *offline) vet(cmd *cobra.Command) ([]ordering.Finding, error) {
	o.findings = &fn.Findings{}
	inputs, options, wrong := readParts(cmd, &o.inputFlags, &o.planningFlags)
	if wrong != nil && (len(inputs) == 0 || cmd.Context().Err() != nil) {
		return nil, wrong
	}
	stream, err := apply.NewStream(markHooks(inputs, options), o.scope())
	var problems, remarks []ordering.Finding
	for _, fault := range slices.Concat(ordering.FlattenErrors(wrong), ordering.FlattenErrors(err)) {
		problems = append(problems, ordering.Finding{Problem: true, Text: fault.Error()})
	}
	for _, fault := range ordering.FlattenErrors(checkHooks(stream)) {
		problems = append(problems, ordering.Finding{Problem: true, Text: fault.Error()})
	}
	faults, unused := checkAnnotations(stream)
	for _, fault := range faults {
		problems = append(problems, ordering.Finding{Problem: true, Text: fault.Error()})
	}
	ordered, notes, err := o.switches(stream, &options)
	for _, fault := range ordering.FlattenErrors(errors.Join(err, o.checkAtomic(options.Stacks, ordered))) {
		problems = append(problems, ordering.Finding{Problem: true, Text: fault.Error()})
	}
	wrongKinds, idleKinds := ordering.CheckKinds(stream.Resources, options, nil)
	_, dropped := hooks.Read(stream.Hooks)
	for _, fault := range slices.Concat(wrongKinds, dropped) {
		problems = append(problems, ordering.Finding{Problem: true, Text: fault.Error()})
	}
	for _, text := range slices.Concat(unused, notes, idleKinds) {
		remarks = append(remarks, ordering.Finding{Text: text})
	}
	for _, f := range *o.findings {
		if f.Severity == fn.Warning {
			remarks = append(remarks, ordering.Finding{Text: strings.TrimPrefix(f.String(), "warning: ")})
		}
	}
	return slices.Concat(problems, stream.Vet(options), remarks), nil
}

func report(cmd *cobra.Command, found []ordering.Finding, strict bool) error {
	problems := 0
	for _, f := range found {
		word := "remark"
		if f.Problem {
			word = "problem"
			problems++
		}
		plain.Message(cmd.OutOrStdout(), word+": ", f.Text)
	}
	switch {
	case problems > 0:
		return fmt.Errorf("%d of %d findings are problems", problems, len(found))
	case strict && len(found) > 0:
		return errors.New("there are remarks, and --strict fails on them")
	}
	return nil
}
