package export

import (
	"slices"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/internal/cli/console"
)

// A tree keeps a flag, or there is a reason why not: a new flag must be in one of the lists.
func TestEveryFlagIsKeptOrNot(t *testing.T) {
	all := slices.Concat(alwaysKept(), keptFor(toFlux), keptFor(toArgoCD), keptIfGiven(), fileFlags(), neverKept())
	NewCommand(new(console.Console)).Flags().VisitAll(func(flag *pflag.Flag) {
		i := slices.Index(all, flag.Name)
		require.GreaterOrEqual(t, i, 0, "--%s is in no list of options.go", flag.Name)
		all = slices.Delete(all, i, i+1)
	})
	require.Empty(t, all, "flags that export does not have, or that are listed twice")
}

// neverKept lists flags of one run: the input and the output.
func neverKept() []string {
	return []string{"filename", "recursive", "kustomize", "enable-alpha-plugins", "enable-exec", "require-order", "output", "check"}
}
