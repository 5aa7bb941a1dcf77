package engines

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/internal/test/testcluster"
)

// ArgoCD is a running Argo CD: its controllers of Applications and ApplicationSets, and
// its server of repositories.
type ArgoCD struct {
	cluster *testcluster.Cluster
	dir     string
}

// StartArgoCD runs Argo CD against a cluster until the test ends. It waits a second between
// waves, where two are the default.
func StartArgoCD(t *testing.T, cluster *testcluster.Cluster) *ArgoCD {
	t.Helper()
	a := &ArgoCD{cluster: cluster, dir: t.TempDir()}
	binary := program(t, "argocd")
	redis, err := exec.LookPath("redis-server")
	if err != nil {
		testcluster.Skip(t, "redis-server (Debian: apt-get install redis-server)")
	}
	a.prepare(t)
	cache, repos := local(freePort(t)), local(freePort(t))
	host, port, _ := strings.Cut(cache, ":")
	start(t, a.dir, "redis", redis, nil, "--port", port, "--bind", host, "--save", "", "--appendonly", "no")
	_, reposPort, _ := strings.Cut(repos, ":")
	_, metrics, _ := strings.Cut(local(freePort(t)), ":")
	server := start(t, a.dir, "repo-server", binary, a.env(t, "argocd-repo-server"), "--address", "127.0.0.1", "--port", reposPort,
		"--metrics-address", "127.0.0.1", "--metrics-port", metrics, "--redis", cache, "--disable-tls")
	server.untilAnswers(t, "http://127.0.0.1:"+metrics+"/healthz")
	_, metrics, _ = strings.Cut(local(freePort(t)), ":")
	start(t, a.dir, "application-controller", binary, a.env(t, "argocd-application-controller"), "--namespace", "argocd", "--metrics-port", metrics,
		"--redis", cache, "--repo-server", repos, "--repo-server-plaintext", "--app-resync", "10")
	start(t, a.dir, "applicationset-controller", binary, a.env(t, "argocd-applicationset-controller"), "--namespace", "argocd",
		"--metrics-addr", local(freePort(t)), "--probe-addr", local(freePort(t)), "--webhook-addr", local(freePort(t)),
		"--argocd-repo-server", repos, "--repo-server-plaintext", "--enable-progressive-syncs")
	return a
}

// prepare creates what an installation of Argo CD has in its namespace.
func (a *ArgoCD) prepare(t *testing.T) {
	t.Helper()
	a.cluster.Kubectl(t, "create", "namespace", "argocd")
	a.cluster.Kubectl(t, "apply", "--server-side", "-k", filepath.Join(moduleDir(t, "argocd", "github.com/argoproj/argo-cd/v3"), "manifests", "crds"))
	untilServed(t, a.cluster, "applications.argoproj.io", "appprojects.argoproj.io", "applicationsets.argoproj.io")
	a.apply(t, installation)
}

// apply applies manifests that a test has as text.
func (a *ArgoCD) apply(t *testing.T, text string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "manifests.yaml")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	a.cluster.Kubectl(t, "apply", "--server-side", "--force-conflicts", "-f", file)
}

// env is the environment of one of the programs that the binary is.
func (a *ArgoCD) env(t *testing.T, name string) []string {
	t.Helper()
	env := []string{
		"ARGOCD_BINARY_NAME=" + name, "KUBECONFIG=" + a.cluster.Kubeconfig, "ARGOCD_FAKE_IN_CLUSTER=true", "ARGOCD_GPG_ENABLED=false",
		"HOSTNAME=argocd-application-controller-0", "ARGOCD_SYNC_WAVE_DELAY=1",
	}
	for _, variable := range []string{"ARGOCD_TLS_DATA_PATH", "ARGOCD_SSH_DATA_PATH", "ARGOCD_GPG_DATA_PATH", "ARGOCD_GNUPGHOME", "ARGOCD_PLUGINSOCKFILEPATH", "HOME", "TMPDIR"} {
		dir := filepath.Join(a.dir, name+"-"+strings.ToLower(variable))
		require.NoError(t, os.Mkdir(dir, 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "ssh_known_hosts"), nil, 0o600))
		env = append(env, variable+"="+dir)
	}
	return env
}

// Agent is the user agent that Argo CD writes with.
func (*ArgoCD) Agent() string { return "argocd/" }

// Repository is the address at which a tree will be published.
func (a *ArgoCD) Repository(name string) string {
	return "file://" + filepath.Join(a.dir, name+".git")
}

// Publish commits an exported tree to a new repository, and applies the objects that
// start it. health says whether the health checks of the tree are applied, too.
func (a *ArgoCD) Publish(t *testing.T, tree, name string, health bool) {
	t.Helper()
	git := func(args ...string) {
		cmd := exec.Command("git", args...)
		cmd.Dir = tree
		cmd.Env = append(os.Environ(), "GIT_AUTHOR_NAME=test", "GIT_AUTHOR_EMAIL=test@example.com", "GIT_COMMITTER_NAME=test", "GIT_COMMITTER_EMAIL=test@example.com")
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, string(out))
	}
	git("init", "-q", "-b", "main")
	git("add", "-A")
	git("commit", "-q", "-m", name)
	git("clone", "-q", "--bare", tree, strings.TrimPrefix(a.Repository(name), "file://"))
	for _, file := range []string{"argocd-cm.yaml", "application.yaml", "root.yaml", "applicationset.yaml"} {
		path := filepath.Join(tree, "argocd", file)
		if _, err := os.Stat(path); err == nil && (health || file != "argocd-cm.yaml") {
			a.cluster.Kubectl(t, "apply", "--server-side", "--force-conflicts", "-f", path)
		}
	}
}

// UntilSynced waits until the Applications whose names begin with the name are synced,
// and as many as there should be.
func (a *ArgoCD) UntilSynced(t *testing.T, name string, count int, limit time.Duration) {
	t.Helper()
	status := func() []string {
		out, _ := a.cluster.TryKubectl("get", "applications", "-n", "argocd", "-o", `jsonpath={range .items[*]}{.metadata.name} {.status.sync.status} {.status.operationState.phase} {.status.health.status} {.status.operationState.message} out of sync:{range .status.resources[?(@.status=="OutOfSync")]} {.kind}/{.name}{end}{"\n"}{end}`)
		var lines []string
		for line := range strings.Lines(out) {
			if strings.HasPrefix(line, name) {
				lines = append(lines, line)
			}
		}
		return lines
	}
	wait(t, limit, func() bool {
		done := 0
		for _, line := range status() {
			if strings.Contains(line, " Synced Succeeded ") {
				done++
			}
		}
		return done == count
	}, func() string {
		return fmt.Sprintf("%d Applications are not synced after %s:\n%s", count, limit, strings.Join(status(), ""))
	})
}

// installation is what an Argo CD without users and credentials has.
const installation = `apiVersion: v1
kind: ConfigMap
metadata: {name: argocd-cm, namespace: argocd, labels: {app.kubernetes.io/part-of: argocd}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: argocd-rbac-cm, namespace: argocd, labels: {app.kubernetes.io/part-of: argocd}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: argocd-gpg-keys-cm, namespace: argocd, labels: {app.kubernetes.io/part-of: argocd}}
---
apiVersion: v1
kind: Secret
metadata: {name: argocd-secret, namespace: argocd, labels: {app.kubernetes.io/part-of: argocd}}
stringData: {server.secretkey: for-tests-only}
---
apiVersion: argoproj.io/v1alpha1
kind: AppProject
metadata: {name: default, namespace: argocd}
spec:
  sourceRepos: ['*']
  destinations: [{server: '*', namespace: '*'}]
  clusterResourceWhitelist: [{group: '*', kind: '*'}]
`
