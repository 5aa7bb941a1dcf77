package history

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The end of a run reads the history again, unless its revision was deployed before and nothing
// about it, or about the others, changes.
func TestEndsThatChangeNothing(t *testing.T) {
	entry := func(n int, status Status) Entry {
		return Entry{Number: n, Status: status, stored: stored{record: &storedRecord{}}}
	}
	index := func(entries ...Entry) Index { return Index{entries: entries} }
	settled := index(entry(1, Superseded), entry(2, Deployed))
	require.True(t, History{}.isEnded(settled, 2, Record{}))

	require.False(t, History{}.isEnded(settled, 3, Record{}), "it is new")
	require.False(t, History{}.isEnded(settled, 2, Record{Failure: "no"}), "the record changes")
	require.False(t, History{}.isEnded(index(entry(1, Superseded), entry(2, Failed)), 2, Record{}), "it becomes deployed")
	require.False(t, History{}.isEnded(index(entry(1, Deployed), entry(2, Deployed)), 2, Record{}), "the other becomes superseded")
	require.False(t, History{Limit: 1}.isEnded(settled, 2, Record{}), "one is deleted")
}
