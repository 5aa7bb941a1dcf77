package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/internal/cli/connect"
	"github.com/ordapply/ordapply/internal/cli/report"
)

// An interrupt ends every wait before a run, and --timeout limits requests to
// the API server.
func TestTimeoutBeforeRun(t *testing.T) {
	kubeconfig, requested := hungServer(t)
	file := filepath.Join(t.TempDir(), "app.yaml")
	require.NoError(t, os.WriteFile(file, []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"), 0o600))
	code, output := runOn(t.Context(), nil, "apply", "-f", file, "--timeout", "2s", "--kubeconfig", kubeconfig)
	require.Equal(t, report.ExitTimedOut, code, output)
	require.Regexp(t, `^error: timed out after 2s \(--timeout\) while waiting for the API server at http://127.0.0.1:\d+ \(context c\) to list what it serves: check that it is up, and that this is the context you mean\n$`, output)

	<-requested

	open, _ := io.Pipe() // never written to
	for _, args := range [][]string{
		{"apply", "-f", file}, {"apply", "-f", "-"}, {"plan", "-f", file}, {"delete", "-f", file},
		{"delete", "--applyset", "shop"}, {"status", "shop"}, {"history", "shop"}, {"rollback", "shop"}, {"rbac", "-f", file},
	} {
		ctx, interrupt := context.WithCancel(t.Context())
		go func() { <-requested; interrupt() }()
		code, output := runOn(ctx, open, append(args, "--kubeconfig", kubeconfig)...)
		require.Equal(t, report.ExitInterrupted, code, "%v: %s", args, output)
		interrupt()
	}
}

// A server that accepts connections and never responds gives another message
// than an unreachable one.
func TestUnresponsiveServerIsReported(t *testing.T) {
	t.Parallel()
	target := &connect.Target{Server: "https://10.0.0.1:6443", Context: "prod"}
	err := target.Explain(&url.Error{Op: "Get", URL: "https://10.0.0.1:6443/api", Err: context.DeadlineExceeded})
	require.EqualError(t, err, "the API server at https://10.0.0.1:6443 (context prod) does not answer in time: check that it is up and not overloaded, and that this is the context you mean")
}

func runOn(ctx context.Context, stdin io.Reader, args ...string) (int, string) {
	var output bytes.Buffer
	code := run(ctx, args, stdin, io.Discard, &output)
	return code, output.String()
}

// hungServer accepts connections and never responds; requested receives for each.
func hungServer(t *testing.T) (kubeconfig string, requested <-chan struct{}) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	seen := make(chan struct{}, 100)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			defer func() { _ = conn.Close() }() // at the end of the test
			seen <- struct{}{}
		}
	}()
	kubeconfig = filepath.Join(t.TempDir(), "kubeconfig")
	text := fmt.Sprintf("apiVersion: v1\nkind: Config\nclusters: [{name: c, cluster: {server: 'http://%s'}}]\ncontexts: [{name: c, context: {cluster: c, user: u}}]\nusers: [{name: u, user: {}}]\ncurrent-context: c\n", listener.Addr())
	require.NoError(t, os.WriteFile(kubeconfig, []byte(text), 0o600))
	return kubeconfig, seen
}
