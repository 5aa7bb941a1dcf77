package terminal

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWrap(t *testing.T) {
	words := []string{"--one", "--two", "--three"}
	require.Equal(t, []string{"  --one --two", "  --three"}, Wrap(words, 14, "  ", "  "))
	require.Equal(t, []string{"--one --two", "  --three"}, Wrap(words, 11, "", "  "))
	require.Equal(t, []string{"--one", "  --two", "  --three"}, Wrap(words, 1, "", "  "), "longer words")
	require.Equal(t, []string{""}, Wrap(nil, 11, "", "  "))
}
