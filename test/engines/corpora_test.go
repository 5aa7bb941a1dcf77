package engines

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/test/corpora"
	"github.com/ordapply/ordapply/test/standin"
	"github.com/ordapply/ordapply/test/testcluster"
)

// withOperators starts a control plane on which stand-ins do the work of the programs in
// Pods: serve webhooks, and write the status of custom resources.
func withOperators(t *testing.T) *testcluster.Cluster {
	t.Helper()
	dir, err := os.MkdirTemp("", "engines-") // short: it holds a socket
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	socket := filepath.Join(dir, "pods")
	pods, err := standin.Listen(socket)
	require.NoError(t, err)
	t.Cleanup(func() { _ = pods.Close() })
	cluster := testcluster.Start(t, "--pod-proxy", socket)
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
- {group: generators.external-secrets.io, kind: "*", readyWhen: "true"}
- {group: config.gatekeeper.sh, kind: "*", readyWhen: "true"}
- {group: constraints.gatekeeper.sh, kind: "*", readyWhen: "true"}
- {group: expansion.gatekeeper.sh, kind: "*", readyWhen: "true"}
- {group: mutations.gatekeeper.sh, kind: "*", readyWhen: "true"}
`

// corpus returns a real stream, and the flags with which it is planned.
func corpus(t *testing.T, name string) (stream []byte, args []string) {
	t.Helper()
	stream, err := os.ReadFile(filepath.Join(corpora.Need(t), name+".yaml"))
	require.NoError(t, err)
	if name == "argo-cd" {
		stream = append([]byte("apiVersion: v1\nkind: Namespace\nmetadata: {name: argocd}\n---\n"), stream...)
		return stream, []string{"-n", "argocd"}
	}
	return stream, nil
}

// healthRules returns the flags with the rules for kinds without an operator here.
func healthRules(t *testing.T) []string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "rules.yaml")
	require.NoError(t, os.WriteFile(file, []byte(rules), 0o600))
	return []string{"--health-rules", file}
}

// Real streams without an order of their own: inferred edges are kept, too.
func TestFluxOnRealStreams(t *testing.T) {
	for _, name := range []string{"jobset", "cert-manager", "cloudnative-pg", "argo-cd", "kube-prometheus", "gatekeeper"} {
		t.Run(name, func(t *testing.T) {
			if name != "jobset" {
				long(t)
			}
			stream, args := corpus(t, name)
			cluster := withOperators(t)
			flux := StartFlux(t, cluster)
			runFlux(t, cluster, flux, name, stream, args...)
		})
	}
}

// runFlux exports a stream, lets Flux apply it, and proves its order.
func runFlux(t *testing.T, cluster *testcluster.Cluster, flux *Flux, name string, stream []byte, args ...string) time.Duration {
	t.Helper()
	plan, from := planOf(t, stream, args...), logSize(t, cluster)
	tree := exportToFlux(t, flux, name, stream, nil, slices.Concat([]string{"--timeout", "90s"}, args, healthRules(t))...)
	flux.Publish(t, tree, name)
	untilWritten(t, cluster, plan, from, flux.Agent(), 8*time.Minute, flux.status)
	return requireKept(t, cluster, plan, from, flux.Agent())
}

// The same streams in waves, and some with an Application for each layer.
func TestArgoCDOnRealStreams(t *testing.T) {
	for _, c := range []struct{ name, form string }{
		{"jobset", "application"}, {"cert-manager", "application"}, {"cloudnative-pg", "application"}, {"kube-prometheus", "application"},
		{"gatekeeper", "application"}, {"flux", "application"}, {"jobset", "app-of-apps"}, {"cert-manager", "app-of-apps"},
	} {
		t.Run(c.name+" as "+c.form, func(t *testing.T) {
			if c.name != "jobset" || c.form != "application" {
				long(t)
			}
			stream, args := corpus(t, c.name)
			cluster := withOperators(t)
			argocd := StartArgoCD(t, cluster)
			runArgoCD(t, cluster, argocd, c.form, c.name, stream, args...)
		})
	}
}

// runArgoCD exports a stream, lets Argo CD sync it, and proves its order.
func runArgoCD(t *testing.T, cluster *testcluster.Cluster, argocd *ArgoCD, form, name string, stream []byte, args ...string) time.Duration {
	t.Helper()
	plan, from := planOf(t, stream, args...), logSize(t, cluster)
	argocd.Publish(t, exportToArgoCD(t, argocd, form, name, stream, slices.Concat(args, healthRules(t))...), name)
	untilWritten(t, cluster, plan, from, argocd.Agent(), 8*time.Minute, argocd.status)
	return requireKept(t, cluster, plan, from, argocd.Agent())
}
