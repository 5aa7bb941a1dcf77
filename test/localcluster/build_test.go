package main

import (
	"bytes"
	"context"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestReport: off a terminal there is a line at once, one every 15 seconds, and one at the end; the
// compiler's complaints are kept for the error.
func TestReport(t *testing.T) {
	lines := "k8s.io/api/core/v1\ngo.yaml.in/yaml/v3\n# k8s.io/x\nx.go:1:1: syntax error\nk8s.io/kubernetes/cmd/kubectl\n"
	var out bytes.Buffer
	other := report(strings.NewReader(lines), &out, 3)
	require.Equal(t, "# k8s.io/x\nx.go:1:1: syntax error\n", other)
	shown := strings.Split(strings.TrimSpace(out.String()), "\n")
	require.Len(t, shown, 2)
	require.Regexp(t, `^\[   1/3\] k8s.io/api/core/v1 +0s$`, shown[0])
	require.Regexp(t, `^\[   3/3\] k8s.io/kubernetes/cmd/kubectl +0s$`, shown[1])
}

func TestReportRewritesOnATerminal(t *testing.T) {
	var out bytes.Buffer
	p := &progress{out: &out, terminal: true, begin: time.Now(), total: 2}
	p.step("a")
	p.last = time.Time{}
	p.step("b")
	p.end()
	require.Equal(t, 2, strings.Count(out.String(), "\r["))
	require.Equal(t, 1, strings.Count(out.String(), "\n"))
}

// TestBuildOnceWaitsForTheOther: of two builds at once the second waits; here the other one ends without a result.
func TestBuildOnceWaitsForTheOther(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "key")
	unlock, err := lock(filepath.Join(filepath.Dir(dir), "lock"))
	require.NoError(t, err)
	second := make(chan error)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { second <- buildOnce(ctx, latest(), dir, "", &bytes.Buffer{}) }()
	select {
	case err := <-second:
		t.Fatalf("did not wait: %v", err)
	case <-time.After(200 * time.Millisecond):
	}
	cancel() // it would build now
	unlock()
	require.Error(t, <-second)
	require.NoDirExists(t, dir)
	require.NoDirExists(t, filepath.Join(filepath.Dir(dir), "building"))
}

// TestReleases: each release has the binaries of every component, and an unknown one is named.
func TestReleases(t *testing.T) {
	t.Setenv("LOCALCLUSTER_KUBERNETES", "oldest")
	r, err := releaseNamed("")
	require.NoError(t, err)
	require.Equal(t, oldest().version, r.version)
	for _, r := range []release{latest(), oldest()} {
		have := slices.Clone(r.shared)
		for _, pkg := range r.packages {
			have = append(have, path.Base(pkg))
		}
		require.ElementsMatch(t, []string{apiServer, controllerManager, scheduler, "kubectl", etcd, kwok}, have, r.name)
		dir := t.TempDir()
		require.NoError(t, r.writeModule(dir))
		mod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		require.NoError(t, err)
		require.Contains(t, string(mod), "k8s.io/kubernetes "+r.version+" ")
	}
	_, err = releaseNamed("v1.30")
	require.ErrorContains(t, err, `unknown Kubernetes "v1.30": it is latest (v1.36.3) or oldest (v1.34.4)`)
}
