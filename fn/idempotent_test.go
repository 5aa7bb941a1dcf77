package fn_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/fn"
	"github.com/ordapply/ordapply/sortorder"
)

// A second run changes nothing, under every option that affects the text.
func TestASecondRunChangesNothing(t *testing.T) {
	for _, options := range []string{
		"typeOrder: fifo", "typeOrder: helm", "typeOrder: {default: fifo, first: [Service]}", "outputOrder: precedence", "emit: [argocd, kapp]",
		"typeOrder: fifo, layers: [{name: kind=Deployment, dependsOn: []}]",
	} {
		order, err := sortorder.Parse([]byte("{apiVersion: ordapply.dev/v1alpha1, kind: SortOrder, metadata: {name: x}, sortOrder: [{kind: StatefulSet}, {kind: Deployment}], " + options + "}"))
		require.NoError(t, err)
		for _, file := range realStreams(t) {
			stream, err := os.ReadFile(file)
			require.NoError(t, err)
			once := fn.Processor{Order: order}.Run(stream)
			require.False(t, once.Findings.Failed(), once.Findings.Lines())
			again := fn.Processor{Order: order}.Run(once.Stream())
			require.Equal(t, string(once.Stream()), string(again.Stream()), "%s with %s", filepath.Base(file), options)
		}
	}
}
