package operation_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/operation"
)

// A program that wants no output leaves the streams out.
func TestNoStreams(t *testing.T) {
	op := operation.NewPlan()
	op.Files, op.DryRun = []string{"testdata/app.yaml"}, "client"
	op.Set, op.Prune = "shop", true // prints a note on standard error
	require.NoError(t, op.Run(t.Context(), operation.Streams{}))
	op.Files = []string{"-"}
	require.EqualError(t, op.Run(t.Context(), operation.Streams{}), "-f -: there is no standard input: set Streams.In")
}
