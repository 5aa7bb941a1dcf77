package history

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
	"github.com/ordapply/ordapply/test/memcluster"
)

// A revision's user, commit and reason are in its metadata, bounded. The account is
// read only when a revision is stored.
func TestOriginIsStored(t *testing.T) {
	requested := 0
	cluster := memcluster.New()
	h := vouching(History{Cluster: cluster, Parent: applyset.Parent{ID: object.ID{Kind: "Secret", Namespace: "shop", Name: "shop"}}, User: func(context.Context) string {
		requested++
		return "alice"
	}})
	r := revisionOf(t, resources(t, stream), ordering.Options{})
	r.Origin = Origin{Commit: "0123456", Message: "  " + strings.Repeat("é", MaxMessage)}
	_, err := h.Begin(t.Context(), r)
	require.NoError(t, err)
	entries, err := h.List(t.Context())
	require.NoError(t, err)
	require.Equal(t, Origin{"alice", "0123456", strings.Repeat("é", MaxMessage/2)}, entries[0].Origin)
	_, err = h.Begin(t.Context(), r)
	require.NoError(t, err)
	require.Equal(t, 1, requested, "the same stream again is not a revision")

	r.Rollback = 4
	secrets, err := pack(h.Parent.ID, "shop", 5, r.summary("other"), Record{}, nil)
	require.NoError(t, err)
	back, err := readEntry(secrets[0])
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(back.Message, "rollback to revision 4: "), back.Message)
}

// A cut text is still text.
func TestBounded(t *testing.T) {
	require.Equal(t, "a", bounded(" aé ", 2))
	require.Equal(t, "aé", bounded(" aé ", 3))
	require.Equal(t, Origin{Message: "rollback to revision 2"}, Origin{}.OfRollback(2))
	require.Equal(t, Origin{}, Origin{}.OfRollback(0))
}
