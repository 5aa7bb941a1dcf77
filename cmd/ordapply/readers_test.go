package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/internal/cli/report"
	"github.com/ordapply/ordapply/test/testcluster"
)

// much is a number of ConfigMaps for which the output exceeds a pipe's buffer.
const much = 300

// A reader that does not read, or closes the pipe, does not block the run; with
// a real process and real pipes.
func TestReaders(t *testing.T) {
	bin, err := testcluster.Find("ordapply")
	if err != nil {
		testcluster.Skip(t, "the ordapply command (run `make build`)")
	}
	cluster := shared.Get(t)
	start := func(t *testing.T, namespace string, args ...string) *process {
		return startProcess(t, cluster, bin, muchStream(namespace), args...)
	}
	t.Run("reads when all is done", func(t *testing.T) {
		p := start(t, "late", "-o", "json")
		awaitApplied(t, cluster, "late")
		go func() { _, _ = io.Copy(io.Discard, p.err) }()
		lines := p.rest(t, p.out)
		require.Equal(t, report.ExitDone, p.exit(t))
		requireWhole(t, lines)
	})
	t.Run("never reads", func(t *testing.T) {
		metrics := t.TempDir() + "/run.prom"
		p := start(t, "never", "-o", "json", "--metrics-file", metrics)
		awaitFile(t, metrics)
		require.NoError(t, p.Process.Signal(os.Interrupt)) // it need not wait for its reader
		require.Equal(t, report.ExitDone, p.exit(t))
	})
	t.Run("never reads text", func(t *testing.T) {
		metrics := t.TempDir() + "/run.prom"
		p := start(t, "text", "--metrics-file", metrics)
		awaitFile(t, metrics)
		require.NoError(t, p.Process.Signal(os.Interrupt))
		require.Equal(t, report.ExitDone, p.exit(t))
	})
	t.Run("leaves after a line", func(t *testing.T) {
		p := start(t, "head", "-o", "json")
		first, err := bufio.NewReader(p.out).ReadString('\n')
		require.NoError(t, err)
		require.Contains(t, first, `"type":"runStart"`)
		require.NoError(t, p.out.Close())
		require.NoError(t, p.err.Close())
		require.Equal(t, report.ExitDone, p.exit(t))
		awaitApplied(t, cluster, "head")
	})
}

// process is the program with both outputs in pipes.
type process struct {
	*exec.Cmd
	out, err *os.File // the ends to read from
}

func startProcess(t *testing.T, cluster *testcluster.Cluster, bin, stream string, args ...string) *process {
	t.Helper()
	cmd := exec.Command(bin, append([]string{"apply", "-f", "-", "--kubeconfig", cluster.Kubeconfig}, args...)...)
	cmd.Stdin = strings.NewReader(stream)
	out, outEnd, err := os.Pipe()
	require.NoError(t, err)
	errs, errsEnd, err := os.Pipe()
	require.NoError(t, err)
	cmd.Stdout, cmd.Stderr = outEnd, errsEnd
	require.NoError(t, cmd.Start())
	require.NoError(t, outEnd.Close())
	require.NoError(t, errsEnd.Close())
	t.Cleanup(func() { _ = cmd.Process.Kill(); out.Close(); errs.Close() })
	return &process{cmd, out, errs}
}

func (p *process) rest(t *testing.T, from *os.File) []string {
	t.Helper()
	text, err := io.ReadAll(from)
	require.NoError(t, err)
	return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
}

func (p *process) exit(t *testing.T) int {
	t.Helper()
	_ = p.Wait()
	return p.ProcessState.ExitCode()
}

// muchStream gives its ConfigMaps long names, so that text output also exceeds
// a pipe's buffer.
func muchStream(namespace string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "apiVersion: v1\nkind: Namespace\nmetadata: {name: %s}\n", namespace)
	for i := range much {
		fmt.Fprintf(&b, "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s-%d, namespace: %s}\n", strings.Repeat("x", 240), i, namespace)
	}
	return b.String()
}

// awaitApplied waits until the whole stream is in the cluster.
func awaitApplied(t *testing.T, cluster *testcluster.Cluster, namespace string) {
	t.Helper()
	require.Eventually(t, func() bool {
		out, err := cluster.TryKubectl("get", "configmaps", "-n", namespace, "-o", "name")
		return err == nil && strings.Count(out, "xxx-") == much
	}, 2*time.Minute, 200*time.Millisecond)
}

// awaitFile waits for the metrics file, which is written at the end of a run.
func awaitFile(t *testing.T, path string) {
	t.Helper()
	require.Eventually(t, func() bool { _, err := os.Stat(path); return err == nil }, 2*time.Minute, 100*time.Millisecond, "the run waits for its reader")
}

// requireWhole requires lines to be the output of a successful run.
func requireWhole(t *testing.T, lines []string) {
	t.Helper()
	final := map[string]int{}
	for i, text := range lines {
		var line struct {
			Type, Name, State string
			Final             bool
		}
		require.NoError(t, json.Unmarshal([]byte(text), &line), text)
		require.Equal(t, i == len(lines)-1, line.Type == "runEnd", text)
		if line.Final {
			final[line.Name]++
			require.Equal(t, "ready", line.State)
		}
	}
	require.Len(t, final, much+1)
	for name, n := range final {
		require.Equal(t, 1, n, name)
	}
}
