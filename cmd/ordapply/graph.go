package main

import (
	"errors"
	"io"

	"github.com/spf13/cobra"

	"github.com/ordapply/ordapply/internal/cli/console"
	"github.com/ordapply/ordapply/internal/cli/input"
	"github.com/ordapply/ordapply/internal/cli/usage"
	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/internal/view/drawing"
	"github.com/ordapply/ordapply/ordering"
)

func newGraph(c *console.Console) *cobra.Command {
	var in input.Offline
	var output string
	cmd := &cobra.Command{
		Use:   "graph -f FILE",
		Short: "Draw the plan as a graph of dependencies, wave by wave, without a cluster",
		Long: `graph draws the plan. Resources of one kind with the same dependencies and the
same dependents share a box; above 300 resources, boxes are layers. Black arrows
are declared, gray ones inferred from references; dashed ones wait only until
the dependency is applied. -o svg folds a wide picture to the width of a page;
bars before waves are their gates. -o json is the complete plan.`,
		Example: `  kustomize build . | ordapply graph -o svg > plan.svg
  ordapply graph -f app.yaml -o mermaid`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := usage.OneOf("output", output, "dot", "mermaid", "json", "svg"); err != nil {
				return err
			}
			plan, err := in.Plan(cmd.Context(), c)
			if err != nil {
				return err
			}
			return errors.Join(draw(c.Out, plan, output), plan.Err())
		},
	}
	in.Register(cmd.Flags())
	cmd.Flags().StringVarP(&output, "output", "o", "dot", "dot, mermaid, json or svg")
	return cmd
}

func draw(out io.Writer, plan *ordering.Plan, output string) error {
	switch output {
	case "json":
		return drawing.PlanJSON(out, plan)
	case "mermaid":
		return plain.WriteLines(out, drawing.Draw(plan).WriteMermaid)
	case "svg":
		return plain.WriteLines(out, func(w io.Writer) error { return drawing.WriteSVG(w, drawing.Draw(plan)) })
	}
	return plain.WriteLines(out, drawing.Draw(plan).WriteDOT)
}
