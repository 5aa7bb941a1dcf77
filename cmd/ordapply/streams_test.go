package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/ordapply/ordapply/manifest"
	"github.com/ordapply/ordapply/ordering"
	"github.com/ordapply/ordapply/test/corpora"
)

// kubePrometheus writes the stream of kube-prometheus and returns its file. Nothing waits
// for its APIService, whose backend is a Pod: none runs here.
func kubePrometheus(t *testing.T) string {
	t.Helper()
	var out bytes.Buffer
	for _, m := range readManifests(t, filepath.Join(corpora.Need(t), "kube-prometheus.yaml")) {
		if m.GetKind() == "APIService" {
			m.SetAnnotations(map[string]string{ordering.WaitAnnotation: "none"})
		}
		text, err := yaml.Marshal(m.Object)
		require.NoError(t, err)
		out.WriteString("---\n" + string(text))
	}
	path := filepath.Join(t.TempDir(), "stream.yaml")
	require.NoError(t, os.WriteFile(path, out.Bytes(), 0o644))
	return path
}

func readManifests(t *testing.T, path string) []manifest.Manifest {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	manifests, err := manifest.Read(filepath.Base(path), bytes.NewReader(data))
	require.NoError(t, err)
	return manifests
}

func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
