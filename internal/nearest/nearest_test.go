package nearest_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/internal/nearest"
	"github.com/ordapply/ordapply/object"
)

func ExampleDidYouMean() {
	fmt.Println("there is no application wep" + nearest.DidYouMean("wep", []string{"db", "web"}))
	// Output: there is no application wep; did you mean web?
}

// Nothing is suggested for a name that is like none of the known ones.
func TestDidYouMeanNothing(t *testing.T) {
	require.Empty(t, nearest.DidYouMean("frontend", []string{"db", "cache"}))
	require.Empty(t, nearest.DidYouMean("web", nil))
}

// Of a short name, one letter may differ, or two neighbours have changed places; two
// letters inside another name are no part of it.
func TestShortNames(t *testing.T) {
	for _, c := range []struct {
		written, name string
		close         bool
	}{
		{"plna", "plan", true}, {"paln", "plan", true}, {"pln", "plan", true}, {"pkan", "plan", true}, {"stat", "status", true},
		{"edit", "init", false}, {"fmt", "vet", false}, {"test", "list", false}, {"nope", "one", false}, {"start", "sort", false},
		{"staus", "status", true}, {"stuts", "status", true}, {"hstry", "history", true}, {"me", "admin@me", true}, {"histroy", "history", true},
		{"cascade", "as", false}, {"as", "cascade", false}, {"shop-db", "db", true}, {"db", "db-0", true}, {"shop", "bookshop", true},
	} {
		_, close := nearest.Distance(c.written, c.name)
		require.Equal(t, c.close, close, "%s for %s", c.written, c.name)
	}
}

// Of two names at the same distance the first is suggested.
func TestFirstOfEquals(t *testing.T) {
	require.Equal(t, "; did you mean wea?", nearest.DidYouMean("web", []string{"wea", "wec"}))
}

// An ID of the same name but another kind is close if that is misspelled, or if both
// are in one namespace.
func TestIDDistance(t *testing.T) {
	web := object.ID{Kind: "Service", Namespace: "shop", Name: "web"}
	for _, c := range []struct {
		other object.ID
		close bool
	}{
		{object.ID{Kind: "Service", Namespace: "shop", Name: "webs"}, true},
		{object.ID{Kind: "Service", Namespace: "other", Name: "web"}, true},
		{object.ID{Kind: "Secret", Namespace: "shop", Name: "web"}, true},
		{object.ID{Kind: "Secret", Namespace: "other", Name: "web"}, false},
		{object.ID{Kind: "Secret", Namespace: "shop", Name: "webs"}, false},
	} {
		_, close := nearest.IDDistance(web, c.other)
		require.Equal(t, c.close, close, c.other)
	}
}

// Comparing long names takes no time.
func TestLongNames(t *testing.T) {
	long := strings.Repeat("a", 1<<20)
	require.Empty(t, nearest.DidYouMean(long+"x", []string{long + "y"}))
	require.Equal(t, "; did you mean web?", nearest.DidYouMean("wed", []string{long, "web"}))
}
