package state

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/test/memcluster"
)

// The stream no longer contains a Namespace, and still contains resources in
// it: the Namespace is kept, whatever the flags.
func TestNamespaceOfTheStreamsResourcesIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := memcluster.New()
		done(t, runOf(t, cluster, "Namespace /data", "ConfigMap data/precious", "ConfigMap shop/a"))
		run := runOf(t, cluster, "ConfigMap data/precious", "ConfigMap shop/a")
		run.Remover.PruneNamespaces = true
		run.Remover.NoWait = true // the store has no watches
		outline, err := run.PlanWithPrune(t.Context())
		require.NoError(t, err)
		require.Contains(t, outline.Notes, "Namespace data is kept although the stream no longer contains it: it contains ConfigMap data/precious of this stream")
		preview, err := run.Preview(t.Context())
		require.NoError(t, err)
		require.NotEmpty(t, preview)
		done(t, run)
		require.Empty(t, deletions(cluster))
		require.Equal(t, "ConfigMap,Namespace data", promise(t, cluster))

		run = runOf(t, cluster, "ConfigMap shop/a")
		run.Remover.PruneNamespaces = true
		run.Remover.NoWait = true
		done(t, run)
		require.ElementsMatch(t, []string{"configmaps/precious", "namespaces/data"}, deletions(cluster))
	})
}
