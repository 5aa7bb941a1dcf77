package plain

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestSample(t *testing.T) {
	for want, items := range map[string][]string{
		"":             nil,
		"A":            {"a"},
		"A, B":         {"a", "b"},
		"A, B, 1 more": {"a", "b", "c"},
		"A, B, 2 more": {"a", "b", "c", "d"},
	} {
		require.Equal(t, want, strings.Join(Sample(items, 2, "%d more", strings.ToUpper), ", "))
	}
}

func TestShorten(t *testing.T) {
	require.Equal(t, "short", Clip("short", 5))
	require.Equal(t, "längs…", Clip("längst", 5))
	require.Equal(t, "one line", OneLine(" one\n\tline\n"))
	now := time.Now()
	require.Equal(t, "2m0s", Age(now, now.Add(-2*time.Minute-300*time.Millisecond)))
	require.Equal(t, "0s", Age(now, now.Add(time.Hour)), "another clock")
}
