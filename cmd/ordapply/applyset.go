package main

import (
	"context"
	"io"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	"github.com/ordapply/ordapply/internal/cli/connect"
	"github.com/ordapply/ordapply/internal/cli/console"
	"github.com/ordapply/ordapply/internal/cli/flags"
	"github.com/ordapply/ordapply/internal/cli/report"
	"github.com/ordapply/ordapply/internal/cli/usage"
	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/state"
)

func newApplySet(c *console.Console) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "applyset",
		Short: "Manage the parents of apply sets (KEP-3659)",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_ = cmd.Help()
			return usage.Errorf("name a subcommand: crd, hand-over or trust")
		},
	}
	cmd.AddCommand(newApplySetCRD(c), newHandOver(c), newTrust(c))
	return cmd
}

func newApplySetCRD(c *console.Console) *cobra.Command {
	return &cobra.Command{
		Use:   "crd",
		Short: "Print the CustomResourceDefinition for cluster-scoped parents",
		Example: `  ordapply applyset crd | kubectl apply -f -
  ordapply apply -f app.yaml --applyset applysets.ordapply.dev/shop -n shop`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := io.WriteString(c.Out, parentCRD)
			return err
		},
	}
}

// parentCRD defines the parent of apply sets. It has no fields: everything is
// in the parent's metadata. The label makes kubectl accept it as a parent.
const parentCRD = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: applysets.ordapply.dev
  labels:
    applyset.kubernetes.io/is-parent-type: "true"
spec:
  group: ordapply.dev
  scope: Cluster
  names:
    kind: ApplySet
    listKind: ApplySetList
    plural: applysets
    singular: applyset
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        description: The parent of an apply set (KEP-3659). All its data is in its metadata.
`

func newHandOver(c *console.Console) *cobra.Command {
	var to string
	lockTimeout := 30 * time.Second
	cluster := genericclioptions.NewConfigFlags(true)
	cmd := &cobra.Command{
		Use:   "hand-over NAME --to kubectl",
		Short: "Hand over an apply set to another tool",
		Long: `Hand over an apply set to another tool. Its members stay unchanged. ordapply
refuses the set afterwards; apply --take-over takes it over again.`,
		Example: `  ordapply applyset hand-over shop -n shop --to kubectl
  KUBECTL_APPLYSET=true kubectl apply --server-side --prune --applyset shop -n shop -f app.yaml`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := usage.OneOf("to", to, "kubectl"); err != nil {
				return err
			}
			t, err := connect.To(cmd.Context(), c, cluster)
			if err != nil {
				return err
			}
			id, err := handOver(cmd.Context(), t, args[0], lockTimeout)
			if err != nil {
				return connect.ExplainForbidden(err, t, args[0])
			}
			_, err = plain.Fprintf(c.Out, "%s is now managed by kubectl; take it over again with ordapply apply --applyset %s --take-over\n", report.ResourceName(id), args[0])
			return err
		},
	}
	cluster.AddFlags(cmd.Flags())
	cmd.Flags().StringVar(&to, "to", "", "tool that takes over the set: kubectl")
	flags.LockTimeout(cmd.Flags(), &lockTimeout)
	return cmd
}

// handOver hands a set over to kubectl, and returns its parent.
func handOver(ctx context.Context, t *connect.Target, name string, lockTimeout time.Duration) (object.ID, error) {
	gvk, id, err := connect.ParentOf(ctx, t, name)
	if err != nil {
		return id, err
	}
	h := state.HandOver{SetRef: state.SetRef{Cluster: t.Cluster, Parent: id, Kind: gvk, Namespace: t.RecordsNamespace, LockTimeout: lockTimeout}}
	return id, h.ToKubectl(ctx)
}
