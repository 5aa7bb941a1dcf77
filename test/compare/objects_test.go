package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Helm refuses files of more than 5 MiB; the files of a chart together are the stream.
func TestChart(t *testing.T) {
	at := target{namespace: "x", dir: filepath.Join(t.TempDir(), "x")}
	require.NoError(t, os.Mkdir(at.dir, 0o755))
	const size = 20_000
	require.NoError(t, configMaps(at.file(), at.namespace, size, false))
	require.NoError(t, chart(at))
	files, err := filepath.Glob(filepath.Join(at.chart(), "templates", "*"))
	require.NoError(t, err)
	require.Greater(t, len(files), 1)
	var all bytes.Buffer
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Less(t, len(text), 5<<20)
		require.True(t, strings.HasPrefix(string(text), "apiVersion: v1\n"), "a file begins with a manifest")
		all.Write(text)
	}
	stream, err := os.ReadFile(at.file())
	require.NoError(t, err)
	require.True(t, bytes.Equal(stream, all.Bytes()))
	require.Equal(t, size, bytes.Count(stream, []byte("kind: ConfigMap\n")))
}

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
