package engines

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/test/auditlog"
	"github.com/ordapply/ordapply/test/testcluster"
)

// hookDifferences are the cases in which ordapply differs from Argo CD, with the reason and
// ordapply's sequence.
func hookDifferences() map[string]hookDifference {
	return map[string]hookDifference{
		"old_result": {
			why:  "Argo CD applies a Job without BeforeHookCreation over the old one, and takes its old result: what the hook does has not run in this sync",
			does: []string{"Failed", "Succeeded", "create pre", "create fails", "create report", "delete pre", "create pre", "delete fails", "create fails", "create app", "delete pre", "delete report"},
		},
	}
}

type hookDifference struct {
	why  string
	does []string
}

// Argo CD and ordapply sync the same streams, each into a namespace of its own. Both create
// and delete the same objects in the same order, as the audit log shows. Each
// testdata/hooks/*.txtar is a rule, with one file for each sync.
func TestArgoCDHooks(t *testing.T) {
	cluster := testcluster.Start(t, "--ready-after", "500ms..1s")
	argocd := StartArgoCD(t, cluster)
	cases, err := filepath.Glob(filepath.Join("testdata", "hooks", "*.txtar"))
	require.NoError(t, err)
	require.NotEmpty(t, cases)
	t.Run("shared", func(t *testing.T) {
		for _, path := range cases {
			name := strings.TrimSuffix(filepath.Base(path), ".txtar")
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				archive, err := txtar.ParseFile(path)
				require.NoError(t, err)
				want := syncedByArgoCD(t, cluster, argocd, "argo-"+strings.ReplaceAll(name, "_", "-"), archive.Files)
				got := syncedByOrdapply(t, cluster, "ord-"+strings.ReplaceAll(name, "_", "-"), archive.Files)
				if differs, ok := hookDifferences()[name]; ok {
					require.NotEqual(t, want, got, "there is no difference any more")
					t.Logf("%s\nArgo CD: %q", differs.why, want)
					want = differs.does
				}
				require.Equal(t, want, got)
				t.Logf("%d writes: %q", len(got), got)
			})
		}
	})
}

// syncedByArgoCD lets Argo CD sync the files one after the other, and returns its phases
// and writes.
func syncedByArgoCD(t *testing.T, cluster *testcluster.Cluster, a *ArgoCD, name string, files []txtar.File) []string {
	t.Helper()
	cluster.Kubectl(t, "create", "namespace", name)
	tree, from, phases := t.TempDir(), logSize(t, cluster), []string{}
	for i, file := range files {
		require.NoError(t, os.WriteFile(filepath.Join(tree, "app.yaml"), file.Data, 0o600))
		if i == 0 {
			a.Publish(t, tree, name)
			a.apply(t, strings.NewReplacer("NAME", name, "ADDRESS", a.Repository(name)).Replace(hooksApplication))
		} else if !bytes.Equal(file.Data, files[i-1].Data) {
			a.Republish(t, tree, name, fmt.Sprint("v", i+1))
		}
		phases = append(phases, a.sync(t, name))
	}
	return append(phases, hookWrites(t, cluster, from, name, a.Agent())...)
}

// sync makes Argo CD sync an Application once, and returns how the sync ended.
func (a *ArgoCD) sync(t *testing.T, name string) (phase string) {
	t.Helper()
	a.cluster.Kubectl(t, "patch", "application", "-n", "argocd", name, "--type=merge", "-p",
		`{"operation":{"sync":{"revision":"main","prune":true}},"status":{"operationState":null}}`) // as argocd app sync does
	wait(t, 3*time.Minute, func() bool {
		out := a.cluster.Kubectl(t, "get", "application", "-n", "argocd", name, "-o", "jsonpath={.status.operationState.phase},{.operation}")
		phase = strings.TrimSuffix(out, ",")
		return phase == "Succeeded" || phase == "Failed"
	}, a.status)
	time.Sleep(2 * time.Second) // startedAt has seconds, and hooks are named by it
	return phase
}

// syncedByOrdapply applies the files one after the other, and returns the same.
func syncedByOrdapply(t *testing.T, cluster *testcluster.Cluster, name string, files []txtar.File) []string {
	t.Helper()
	cluster.Kubectl(t, "create", "namespace", name)
	program, err := testcluster.Find("ordapply")
	if err != nil {
		testcluster.Skip(t, "ordapply (run `make build`)")
	}
	from, phases := logSize(t, cluster), []string{}
	for _, file := range files {
		cmd := exec.Command(program, "apply", "-f", "-", "-n", name, "--applyset", "app", "--prune", "--frame", "argocd", "--kubeconfig", cluster.Kubeconfig)
		cmd.Stdin = bytes.NewReader(file.Data)
		out, err := cmd.CombinedOutput()
		t.Logf("%s", out)
		phase := "Succeeded"
		if err != nil {
			phase = "Failed"
		}
		phases = append(phases, phase)
	}
	return append(phases, hookWrites(t, cluster, from, name, "ordapply/")...)
}

// generated is the part of a name that differs from sync to sync.
var generated = regexp.MustCompile(`-([0-9a-f]{7}-)?(presync|postsync)-[0-9]{10,}$`)

// hookWrites returns the creations and deletions of an agent in a namespace, in order.
// Deletions of an object without a creation between count once.
func hookWrites(t *testing.T, cluster *testcluster.Cluster, from int64, namespace, agent string) []string {
	t.Helper()
	requests, err := auditlog.Requests(cluster.AuditLog(), from)
	require.NoError(t, err)
	var out []string
	last := map[string]string{}
	for _, r := range requests {
		if r.Namespace != namespace || !strings.HasPrefix(r.UserAgent, agent) || r.DryRun || r.Subresource != "" || r.Resource != "jobs" && r.Resource != "configmaps" || r.Code >= 300 {
			continue
		}
		verb := ""
		switch {
		case r.Code == 201:
			verb = "create"
		case r.Verb == "delete":
			verb = "delete"
		}
		if verb == "" || last[r.Name] == verb {
			continue
		}
		last[r.Name] = verb
		out = append(out, verb+" "+generated.ReplaceAllString(r.Name, "-$2"))
	}
	return out
}

// hooksApplication is an Application that is synced only when it is asked for.
const hooksApplication = `apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: NAME, namespace: argocd}
spec:
  project: default
  source: {repoURL: ADDRESS, path: ., targetRevision: main}
  destination: {server: https://kubernetes.default.svc, namespace: NAME}
`
