package engines

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/internal/test/corpora"
	"github.com/ordapply/ordapply/internal/test/standin"
	"github.com/ordapply/ordapply/internal/test/testcluster"
)

// withOperators starts a control plane on which stand-ins do what the programs in Pods
// would do: serve webhooks, and write the status of custom resources.
func withOperators(t *testing.T) *testcluster.Cluster {
	t.Helper()
	dir, err := os.MkdirTemp("", "engines-") // short: it holds a socket
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	socket := filepath.Join(dir, "pods")
	pods, err := standin.Listen(socket)
	require.NoError(t, err)
	t.Cleanup(func() { _ = pods.Close() })
	cluster := testcluster.Start(t, "--pod-proxy", socket, "--timeout", "5m")
	ctx, stop := context.WithCancel(context.Background())
	stopped := make(chan struct{})
	go func() {
		_ = pods.Operate(ctx, cluster.Kubeconfig)
		close(stopped)
	}()
	t.Cleanup(func() {
		stop()
		<-stopped
	})
	return cluster
}

// Real streams without an order of their own: what is inferred is kept, too.
func TestFluxOnRealStreams(t *testing.T) {
	folder := corpora.Need(t)
	for _, name := range []string{"gatekeeper", "jobset", "cert-manager", "cloudnative-pg", "argo-cd", "kube-prometheus"} {
		t.Run(name, func(t *testing.T) {
			stream, err := os.ReadFile(filepath.Join(folder, name+".yaml"))
			require.NoError(t, err)
			args := []string(nil)
			if name == "argo-cd" {
				args = []string{"-n", "argocd"}
				stream = append([]byte("apiVersion: v1\nkind: Namespace\nmetadata: {name: argocd}\n---\n"), stream...)
			}
			cluster := withOperators(t)
			flux := StartFlux(t, cluster)
			from := logSize(t, cluster)
			tree := filepath.Join(t.TempDir(), "tree")
			ordapply(t, stream, append([]string{"export", "--to", "flux", "--name", "x", "--source", flux.Source("x"), "--source-insecure", "--retry-interval", "10s", "-o", tree}, args...)...)
			flux.Publish(t, tree, "x")
			flux.UntilReady(t, 4*time.Minute)
			requireKept(t, cluster, planOf(t, stream, args...), from, flux.Agent())
		})
	}
}
