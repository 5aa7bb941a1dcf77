package state

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/applyset"
)

// A revision that an earlier version of ordapply left on the cluster is the one
// before the next, is gone back to, and the same stream makes no new revision.
func TestRevisionsOfAnEarlierVersionAreUsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := newStore()
		h := History{Cluster: cluster, Parent: applyset.Parent{ID: shopSet}}
		old := sample(t, "stacks", samples()["stacks"])
		secrets, err := pack(shopSet, "shop", 1, old.about(digestOf(t, old)), storedSample(t, "stacks", formatV1))
		require.NoError(t, err)
		_, err = cluster.Create(t.Context(), secretKind(), secrets[0])
		require.NoError(t, err)
		require.NoError(t, h.End(t.Context(), 1, Deployed))

		require.Equal(t, 1, begin(t, h, old), "the same content is the same revision")
		require.Equal(t, 2, carriedOut(t, h, sample(t, "stamps", samples()["stamps"]), Deployed))
		previous, err := h.Previous(t.Context())
		require.NoError(t, err)
		require.Equal(t, 1, previous.Number)
		back, err := h.ReadPrevious(t.Context(), previous)
		require.NoError(t, err)
		require.Equal(t, old.Plan, back.Plan)
		require.Equal(t, 3, carriedOut(t, h, Revision{Cluster: "one", Plan: back.Plan, Resources: back.Resources, Options: back.Options, OrderFile: back.OrderFile, Rollback: 1}, Deployed))
		entries, err := h.List(t.Context())
		require.NoError(t, err)
		require.Equal(t, entries[0].digest, entries[2].digest, "what was gone back to is known to be the same")
	})
}
