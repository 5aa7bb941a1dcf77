package engines

import (
	"context"
	"fmt"
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

// rules are for kinds of operators that do not run here: nothing else would write their
// status.
const rules = `apiVersion: ordapply.dev/v1alpha1
kind: HealthRules
rules:
- {group: postgresql.cnpg.io, kind: "*", readyWhen: "true"}
- {group: monitoring.coreos.com, kind: "*", readyWhen: "true"}
- {group: external-secrets.io, kind: "*", readyWhen: "true"}
`

// Real streams without an order of their own: what is inferred is kept, too.
func TestFluxOnRealStreams(t *testing.T) {
	folder := corpora.Need(t)
	for _, name := range []string{"jobset", "cert-manager", "cloudnative-pg", "argo-cd", "kube-prometheus"} {
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
			file := filepath.Join(t.TempDir(), "rules.yaml")
			require.NoError(t, os.WriteFile(file, []byte(rules), 0o600))
			plan := planOf(t, stream, args...)
			args = append(args, "--health-rules", file)
			ordapply(t, stream, append([]string{"export", "--to", "flux", "--name", name, "--source", flux.Source(name), "--source-insecure", "--retry-interval", "10s", "--timeout", "90s", "-o", tree}, args...)...)
			flux.Publish(t, tree, name)
			var missing []string
			wait(t, 2*time.Minute, func() bool {
				missing, err = Unwritten(plan, cluster.AuditLog(), from, flux.Agent())
				return err == nil && len(missing) == 0
			}, func() string { return fmt.Sprintf("not written: %v, %v\n%s", missing, err, flux.status()) })
			requireKept(t, cluster, plan, from, flux.Agent())
		})
	}
}
