package main

import (
	"io"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/internal/cli/console"
	"github.com/ordapply/ordapply/operation"
)

// The rbac command in an error about missing permissions plans the same
// manifests in the same way, and rbac accepts each of its flags.
func TestTheCommandOfARefusal(t *testing.T) {
	op := operation.NewApply()
	set := pflag.NewFlagSet("apply", pflag.ContinueOnError)
	registerPreview(set, &op.Preview)
	registerRun(set, &op)
	require.NoError(t, set.Parse([]string{
		"-f", "a b.yaml,https://jane:hunter2@example.com/c.yaml", "-R", "--order", "order.yaml", "--frame", "helm", "--hooks", "skip", "--chart", "./shop", "--prerequisites=false",
		"--prerequisite-kinds", "StorageClass,Issuer.cert-manager.io", "--applyset", "shop", "--prune", "--take-over", "--create-namespace",
		"--health-rules", "rules.yaml", "--diagnosis=false",
	}))
	op.RollbackOnFailure = true
	printed := op.RolesFlags("prod")
	require.Equal(t, "-f 'a b.yaml,https://xxxxx@example.com/c.yaml' -R --order order.yaml --frame helm --hooks skip --prerequisites=false"+
		" --prerequisite-kinds StorageClass --prerequisite-kinds Issuer.cert-manager.io --chart ./shop"+
		" -n prod --applyset shop --prune --take-over --create-namespace --health-rules rules.yaml --rollback-on-failure --diagnosis=false", strings.Join(printed, " "))
	require.NoError(t, newRBAC(console.New(nil, io.Discard, io.Discard)).ParseFlags(printed))

	plain := operation.NewApply()
	require.Equal(t, []string{"-f", "-"}, plain.RolesFlags("prod"))
}
