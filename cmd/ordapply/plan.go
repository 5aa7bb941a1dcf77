package main

import (
	"github.com/spf13/cobra"

	"github.com/ordapply/ordapply/internal/cli/console"
	fleetrun "github.com/ordapply/ordapply/internal/fleet/run"
	"github.com/ordapply/ordapply/operation"
)

func newPlan(c *console.Console) *cobra.Command {
	op := operation.NewPlan()
	var fleet fleetrun.Options
	cmd := &cobra.Command{
		Use:   "plan -f FILE",
		Short: "Show what apply would do: the waves, the changes in each, and the reasons",
		Long: `plan shows what applying the manifests would change, by dry runs on the API
server, and writes nothing. Values of Secrets are masked. With --dry-run=client
it needs no cluster, and shows only the waves.`,
		Example: `  kustomize build . | ordapply plan
  ordapply plan -f app.yaml --order order.yaml -o json
  helm template shop ./shop | ordapply plan --chart ./shop --dry-run=client`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			clusters, err := fleet.Selected()
			switch {
			case err != nil:
				return err
			case clusters:
				return fleet.Plan(cmd.Root().Context(), c, op)
			}
			return op.RunOn(cmd.Context(), c)
		},
	}
	set := cmd.Flags()
	registerPreview(set, &op.Preview)
	set.StringVar(&op.DryRun, "dry-run", op.DryRun, `"server": ask the cluster what would change; "client": plan without a cluster`)
	set.StringVarP(&op.Output, "output", "o", op.Output, `"text"; "json": one document; or "markdown": a comment for a pull request`)
	set.BoolVar(&op.All, "all", false, "-o text: also list the resources that would not change")
	set.IntVar(&op.CommentSize, "comment-size", op.CommentSize, "-o markdown: bytes that the comment has at most; GitHub takes 65,536 characters")
	set.StringVar(&op.Out, "out", "", "file to write the plan to, for ordapply apply --plan FILE")
	fleet.Register(set)
	return cmd
}

func newDiff(c *console.Console) *cobra.Command {
	op := operation.NewDiff()
	cmd := &cobra.Command{
		Use:   "diff -f FILE",
		Short: "Show what apply would change, as a unified diff",
		Long: `diff compares live objects with the result of an apply, by dry runs on the API
server. Nothing is written. Values of Secrets are masked.

It exits with 0 if nothing would change, 1 if something would, and more than 1
on an error. KUBECTL_EXTERNAL_DIFF names another program to compare with, as for
kubectl.`,
		Example: `  kustomize build . | ordapply diff -f -
  KUBECTL_EXTERNAL_DIFF="colordiff -N -u" ordapply diff -f app.yaml`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return op.RunOn(cmd.Context(), c) },
	}
	registerPreview(cmd.Flags(), &op.Preview)
	return cmd
}
