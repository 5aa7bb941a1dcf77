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

	"github.com/ordapply/ordapply/test/engines/binaries"
	"github.com/ordapply/ordapply/test/testcluster"
)

// ArgoCD is a running Argo CD: its controllers of Applications and ApplicationSets, and
// its server of repositories.
type ArgoCD struct {
	cluster  *testcluster.Cluster
	programs string
	dir      string
}

// StartArgoCD runs Argo CD against a cluster until the test ends. It waits a second between
// waves, where two are the default.
func StartArgoCD(t *testing.T, cluster *testcluster.Cluster) *ArgoCD {
	t.Helper()
	a := &ArgoCD{cluster: cluster, dir: t.TempDir()}
	a.programs = built(t, binaries.ArgoCD())
	binary := filepath.Join(a.programs, "argocd")
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
		"--metrics-address", "127.0.0.1", "--metrics-port", metrics, "--redis", cache, "--disable-tls",
		"--revision-cache-expiration", "1s", "--oci-layer-media-types", contentType)
	server.untilAnswers(t, "http://127.0.0.1:"+metrics+"/healthz")
	_, metrics, _ = strings.Cut(local(freePort(t)), ":")
	start(t, a.dir, "application-controller", binary, a.env(t, "argocd-application-controller"), "--namespace", "argocd", "--metrics-port", metrics,
		"--redis", cache, "--repo-server", repos, "--repo-server-plaintext", "--app-resync", "10")
	start(t, a.dir, "applicationset-controller", binary, a.env(t, "argocd-applicationset-controller"), "--namespace", "argocd",
		"--metrics-addr", local(freePort(t)), "--probe-addr", local(freePort(t)), "--webhook-addr", local(freePort(t)),
		"--argocd-repo-server", repos, "--repo-server-plaintext", "--enable-progressive-syncs")
	return a
}

// prepare creates the objects of an installation of Argo CD.
func (a *ArgoCD) prepare(t *testing.T) {
	t.Helper()
	a.cluster.Kubectl(t, "create", "namespace", "argocd")
	for _, folder := range binaries.ArgoCD().CRDFolders(a.programs) {
		a.cluster.Kubectl(t, "apply", "--server-side", "-k", folder)
	}
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

// Publish commits an exported tree to a new repository, with the tag v1, and applies the
// objects that start it.
func (a *ArgoCD) Publish(t *testing.T, tree, name string) {
	t.Helper()
	commit(t, tree, "v1")
	git(t, tree, "clone", "-q", "--bare", ".", strings.TrimPrefix(a.Repository(name), "file://"))
	a.Apply(t, tree, name)
}

// Republish commits a changed tree to the branch and with another tag, applies its
// objects, and makes Argo CD look at the branch.
func (a *ArgoCD) Republish(t *testing.T, tree, name, tag string) {
	t.Helper()
	commit(t, tree, tag)
	git(t, tree, "push", "-q", "--force", a.Repository(name), "main", tag)
	a.Apply(t, tree, name)
	refresh := []string{"annotate", "--overwrite", "-n", "argocd"}
	for app := range strings.FieldsSeq(a.cluster.Kubectl(t, "get", "applications", "-n", "argocd", "-o", "name")) {
		if strings.HasPrefix(app, "application.argoproj.io/"+name) {
			refresh = append(refresh, app)
		}
	}
	a.cluster.Kubectl(t, append(refresh, "argocd.argoproj.io/refresh=hard")...)
}

// Apply applies the objects that start a tree, and its health checks before them.
func (a *ArgoCD) Apply(t *testing.T, tree, name string) {
	t.Helper()
	for _, file := range []string{"argocd-cm.yaml", "application.yaml", "root.yaml", "applicationset.yaml"} {
		path := filepath.Join(tree, "argocd", file)
		if _, err := os.Stat(path); err == nil {
			a.cluster.Kubectl(t, "apply", "--server-side", "--force-conflicts", "--field-manager", name+"-"+file, "-f", path)
		}
	}
}

// commit makes a repository of a folder, with a tag.
func commit(t *testing.T, dir, tag string) {
	t.Helper()
	git(t, dir, "init", "-q", "-b", "main")
	git(t, dir, "add", "-A")
	git(t, dir, "commit", "-q", "-m", tag)
	git(t, dir, "tag", tag)
}

// git runs git in a folder.
func git(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_AUTHOR_NAME=test", "GIT_AUTHOR_EMAIL=test@example.com", "GIT_COMMITTER_NAME=test", "GIT_COMMITTER_EMAIL=test@example.com")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
}

// UntilSynced waits until the Applications whose names begin with the name are synced,
// and as many as there should be.
func (a *ArgoCD) UntilSynced(t *testing.T, name string, count int, limit time.Duration) {
	t.Helper()
	wait(t, limit, func() bool {
		done := 0
		for line := range strings.Lines(a.status()) {
			if (strings.HasPrefix(line, name+" ") || strings.HasPrefix(line, name+"-")) && strings.Contains(line, " Synced Succeeded ") {
				done++
			}
		}
		return done == count
	}, func() string {
		return fmt.Sprintf("%d Applications %s are not synced after %s:\n%s", count, name, limit, a.status())
	})
}

// status returns the status of the Applications, a line for each.
func (a *ArgoCD) status() string {
	out, _ := a.cluster.TryKubectl("get", "applications", "-n", "argocd", "-o", `jsonpath={range .items[*]}{.metadata.name} {.status.sync.status} {.status.operationState.phase} {.status.health.status} {.status.operationState.message} out of sync:{range .status.resources[?(@.status=="OutOfSync")]} {.kind}/{.name}{end} failed:{range .status.operationState.syncResult.resources[?(@.status=="SyncFailed")]} {.kind}/{.name}: {.message}{end} {.status.conditions}{"\n"}{end}`)
	return out
}

// installation is an Argo CD without users and credentials.
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
