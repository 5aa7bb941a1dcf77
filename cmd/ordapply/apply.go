package main

import (
	"github.com/spf13/cobra"

	"github.com/ordapply/ordapply/internal/cli/console"
	"github.com/ordapply/ordapply/internal/cli/flags"
	fleetrun "github.com/ordapply/ordapply/internal/fleet/run"
	"github.com/ordapply/ordapply/operation"
)

func newApply(c *console.Console) *cobra.Command {
	op := operation.NewApply()
	var planFile string
	var fleet fleetrun.Options
	cmd := &cobra.Command{
		Use:   "apply -f FILE",
		Short: "Apply manifests in gated waves",
		Example: `  kustomize build . | ordapply
  ordapply apply -f app.yaml --order order.yaml --wave-timeout 2m
  ordapply apply -f app.yaml --dry-run=server
  ordapply apply -f app.yaml -o json | jq -r 'select(.type == "error").message'`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			clusters, err := fleet.Selected()
			if err == nil && clusters {
				return fleet.Apply(cmd.Root().Context(), c, op, planFile)
			}
			if err == nil {
				err = restorePlan(cmd, &op, planFile)
			}
			if err != nil {
				return err
			}
			return op.RunOn(cmd.Context(), c)
		},
	}
	set := cmd.Flags()
	set.StringVar(&planFile, "plan", "", "file written by ordapply plan --out: apply exactly that plan, or nothing")
	registerPreview(set, &op.Preview)
	set.BoolVar(&op.RollbackOnFailure, "rollback-on-failure", false, "when the run fails, apply the last deployed revision of the apply set again and delete what the run created; on a first install, only delete what it created. The exit code is that of the failure, or 1 if the rollback fails other than by a timeout")
	flags.History(set, &op.History)
	flags.LockTimeout(set, &op.LockTimeout)
	registerRun(set, &op)
	set.BoolVar(&op.KeepGoing, "keep-going", false, "leave out what cannot be applied, with what depends on it, and apply the rest; the exit code is still 1")
	fleet.Register(set)
	return cmd
}
