package engines

import (
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/test/auditlog"
	"github.com/ordapply/ordapply/test/testcluster"
)

// fleetFile is a fleet of two cohorts.
const fleetFile = `apiVersion: ordapply.dev/v1alpha1
kind: Fleet
clusters:
- {name: eu-1, labels: {stage: canary}}
- {name: us-1, labels: {stage: production}}
cohorts:
- {name: canary, selector: {matchLabels: {stage: canary}}}
- {name: production, selector: {matchLabels: {stage: production}}}
`

// Argo CD on the first of two clusters deploys to both. Nothing of the second is written
// before everything on the first is ready, and each keeps the order of the stream.
func TestArgoCDFleet(t *testing.T) {
	first := testcluster.Start(t, "--ready-after", "500ms..2s")
	second := testcluster.Start(t, "--ready-after", "500ms..2s")
	argocd := StartArgoCD(t, first)
	argocd.Register(t, "eu-1", first)
	argocd.Register(t, "us-1", second)
	file := filepath.Join(t.TempDir(), "fleet.yaml")
	require.NoError(t, os.WriteFile(file, []byte(fleetFile), 0o600))
	export := func(name string, stream []byte) string {
		return exportToArgoCD(t, argocd, "applicationset", name, stream, "--fleet", file)
	}
	deployed := func(name string) (Plan, time.Time, time.Time) {
		stream := lateStream(name)
		fromFirst, fromSecond := logSize(t, first), logSize(t, second)
		tree, plan := export(name, stream), planOf(t, stream)
		if name == "at-once" {
			edit(t, tree, "argocd/applicationset.yaml", "type: RollingSync", "type: AllAtOnce")
		}
		argocd.Publish(t, tree, name)
		untilWritten(t, second, plan, fromSecond, argocd.Agent(), 4*time.Minute, argocd.status)
		untilWritten(t, first, plan, fromFirst, argocd.Agent(), 4*time.Minute, argocd.status)
		first.Kubectl(t, "wait", "--for=condition=Available", "--timeout=60s", "-n", name, "deployment/db", "deployment/last")
		second.Kubectl(t, "wait", "--for=condition=Available", "--timeout=60s", "-n", name, "deployment/db", "deployment/last")
		requireKept(t, first, plan, fromFirst, argocd.Agent())
		requireKept(t, second, plan, fromSecond, argocd.Agent())
		_, ready := extent(t, first, plan, fromFirst, argocd.Agent())
		written, _ := extent(t, second, plan, fromSecond, argocd.Agent())
		return plan, ready, written
	}
	t.Run("a cohort waits for the one before", func(t *testing.T) {
		plan, ready, written := deployed("rolling")
		require.True(t, written.After(ready), "us-1 was written at %s, before eu-1 was ready at %s", written, ready)
		t.Logf("%d resources: the second cohort's first write came %s after the first cohort was ready", len(plan.Steps), written.Sub(ready).Round(100*time.Millisecond))
	})
	t.Run("without the rolling sync it does not", func(t *testing.T) {
		_, ready, written := deployed("at-once")
		require.True(t, written.Before(ready), "the trap is closed by something else")
	})
	t.Run("a cluster that fails stops the next cohort", func(t *testing.T) {
		name := "stuck"
		argocd.Publish(t, export(name, failingStream(name)), name)
		wait(t, 2*time.Minute, func() bool { return exists(first, "deployment", name, "db") }, argocd.status)
		staysUnwritten(t, second, 0, auditlog.Key{Resource: "deployments", Namespace: name, Name: "db"}, 15*time.Second)
		require.False(t, exists(second, "namespace", "", name))
	})
}

// lateStream is layersStream with a Deployment in its last layer, for which no layer waits.
func lateStream(namespace string) []byte {
	return inNamespace(layersStream+`---
apiVersion: apps/v1
kind: Deployment
metadata: {name: last, namespace: NAMESPACE, annotations: {ordapply.dev/layer: o/web, ordapply.dev/wave: "1"}}
spec:
  selector: {matchLabels: {app: last}}
  template:
    metadata: {labels: {app: last}, annotations: {localcluster/ready-after: 5s}}
    spec: {containers: [{name: last, image: "last:1"}]}
`, namespace)
}

// extent returns when the first resource of a plan was written, and when all of them were
// written and ready.
func extent(t *testing.T, cluster *testcluster.Cluster, plan Plan, from int64, agent string) (written, ready time.Time) {
	t.Helper()
	requests, err := auditlog.Requests(cluster.AuditLog(), from)
	require.NoError(t, err)
	seen := observe(requests, agent)
	for _, s := range plan.Steps {
		at := seen.of(s.resource)
		require.NotNil(t, at, s.String())
		if written.IsZero() || at.written.Before(written) {
			written = at.written
		}
		for _, moment := range []time.Time{at.written, at.ready} {
			if moment.After(ready) {
				ready = moment
			}
		}
		if s.Kind == "Deployment" {
			require.False(t, at.ready.IsZero(), "%s was never ready", s)
		}
	}
	return written, ready
}

// Register registers a cluster in Argo CD under a name, with the credentials of its
// kubeconfig.
func (a *ArgoCD) Register(t *testing.T, name string, cluster *testcluster.Cluster) {
	t.Helper()
	var config struct {
		Clusters []struct {
			Cluster struct {
				Server string
				CA     string `json:"certificate-authority-data"`
			}
		}
		Users []struct{ User struct{ Token string } }
	}
	require.NoError(t, json.Unmarshal([]byte(cluster.Kubectl(t, "config", "view", "--raw", "-o", "json")), &config))
	require.Len(t, config.Clusters, 1)
	require.NotEmpty(t, config.Users[0].User.Token)
	access, err := json.Marshal(map[string]any{
		"bearerToken": config.Users[0].User.Token, "tlsClientConfig": map[string]any{"caData": config.Clusters[0].Cluster.CA},
	})
	require.NoError(t, err)
	encoded := func(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }
	a.apply(t, `apiVersion: v1
kind: Secret
metadata: {name: cluster-`+name+`, namespace: argocd, labels: {argocd.argoproj.io/secret-type: cluster}}
data: {name: `+encoded(name)+`, server: `+encoded(config.Clusters[0].Cluster.Server)+`, config: `+encoded(string(access))+`}
`)
}
