package main

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	"github.com/ordapply/ordapply/internal/cli/rbac"
)

// The rbac command in an error about missing permissions plans the same
// manifests in the same way, and rbac accepts each of its flags.
func TestTheCommandOfARefusal(t *testing.T) {
	f := applyFlags{cluster: genericclioptions.NewConfigFlags(true)}
	cmd := &cobra.Command{}
	f.StreamFlags.Register(cmd.Flags())
	f.PlanFlags.Register(cmd.Flags())
	f.SetFlags.Register(cmd.Flags())
	f.registerRun(cmd.Flags())
	given := []string{
		"-f", "a b.yaml,https://jane:hunter2@example.com/c.yaml", "-R", "--order", "order.yaml", "--frame", "helm", "--hooks", "skip", "--chart", "./shop", "--prerequisites=false",
		"--prerequisite-kinds", "StorageClass,Issuer.cert-manager.io", "--applyset", "shop", "--prune", "--take-over", "--rollback-on-failure", "--create-namespace",
		"--health-rules", "rules.yaml", "--diagnosis=false",
	}
	require.NoError(t, cmd.ParseFlags(given))
	printed := f.rolesFlags("prod")
	require.Equal(t, "-f 'a b.yaml,https://xxxxx@example.com/c.yaml' -R --order order.yaml --frame helm --hooks skip --prerequisites=false"+
		" --prerequisite-kinds StorageClass --prerequisite-kinds Issuer.cert-manager.io --chart ./shop --health-rules rules.yaml"+
		" -n prod --applyset shop --prune --take-over --rollback-on-failure --create-namespace --diagnosis=false", strings.Join(printed, " "))
	require.NoError(t, rbac.NewCommand().ParseFlags(printed))

	plain := applyFlags{cluster: genericclioptions.NewConfigFlags(true)}
	cmd = &cobra.Command{}
	plain.StreamFlags.Register(cmd.Flags())
	plain.PlanFlags.Register(cmd.Flags())
	plain.registerRun(cmd.Flags())
	require.Equal(t, []string{"-f", "-"}, plain.rolesFlags("prod"))
}
