package condition

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The time and memory of a path grow with the size of an object, and not with a power of it.
func TestPathsAreBounded(t *testing.T) {
	var deep any = map[string]any{"l": strings.Repeat("a", 1<<20), "many": make([]any, 100_000)}
	for range 5000 {
		deep = map[string]any{"a": deep}
	}
	for text, want := range map[string]int{"..a": 5000, "..*": 105_002, "..*[?(@.a==x)]": 0, "..*[?(@!=x)]": 105_002 - 1, "..many[*]": 100_000} {
		path, err := ParseJSONPath(text)
		require.NoError(t, err)
		started := time.Now()
		require.Len(t, path.Find(deep), want, text)
		require.Less(t, time.Since(started), 10*time.Second, text)
	}
	for _, text := range []string{"..a..a", "..*..*..*", "..a[?(@..b==1)]"} {
		_, err := ParseJSONPath(text)
		require.EqualError(t, err, "path "+text+": it has more than one ..: name the fields between them")
	}
	_, err := ParseJSONPath(`..a[?(@.b=="..")].c`)
	require.NoError(t, err, "quoted")
	equal := Comparison{Operator: "==", Value: "x"}
	for _, path := range []string{"..a", "..*"} {
		equal.Path, err = ParseJSONPath(path)
		require.NoError(t, err)
		started := time.Now()
		require.False(t, equal.Holds(deep))
		require.Less(t, time.Since(started), 10*time.Second, path)
	}
}
