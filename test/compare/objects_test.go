package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A change is of one object.
func TestChange(t *testing.T) {
	lines := func(changed bool) []string {
		file := filepath.Join(t.TempDir(), "stream.yaml")
		require.NoError(t, configMaps(file, "x", 100, changed))
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		return strings.Split(string(text), "\n")
	}
	before, after := lines(false), lines(true)
	differ := 0
	for i := range before {
		if before[i] != after[i] {
			differ++
		}
	}
	require.Equal(t, 1, differ)
}
