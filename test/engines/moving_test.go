package engines

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/test/testcluster"
)

// Objects of Flux move over in one command, after the command that stops Flux. Deleting the
// Kustomization, as the notes of the run say, deletes nothing.
func TestMovingFromFlux(t *testing.T) {
	cluster := testcluster.Start(t)
	flux := StartFlux(t, cluster)
	cluster.Kubectl(t, "create", "namespace", "moving")
	tree := movingTree(t, "flux/source.yaml", `
apiVersion: source.toolkit.fluxcd.io/v1
kind: OCIRepository
metadata: {name: moving, namespace: flux-system}
spec: {interval: 5s, url: "`+flux.Source("moving")+`", ref: {tag: latest}, insecure: true}
`, "flux/kustomizations.yaml", `
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: moving-web, namespace: flux-system}
spec: {interval: 5s, path: ./app, targetNamespace: moving, prune: true, wait: true, timeout: 1m, sourceRef: {kind: OCIRepository, name: moving}}
`)
	flux.Publish(t, tree, "moving")
	flux.UntilReady(t, "moving", 2*time.Minute)
	m := moving{cluster, tree, "moving", "4 adopt", 4}
	m.movesOver(t, "Flux Kustomization flux-system/moving-web: it is not suspended", "kustomize-controller", "kustomize.toolkit.fluxcd.io/name: moving-web")
	// A reconciliation that was asked for finds it suspended.
	cluster.Kubectl(t, "annotate", "--overwrite", "-n", "flux-system", "kustomization/moving-web", "reconcile.fluxcd.io/requestedAt=now")
	m.isForgotten(t, "kustomization.kustomize.toolkit.fluxcd.io", "flux-system", "moving-web")
}

// Objects of Argo CD move over, however it applies and tracks.
func TestMovingFromArgoCD(t *testing.T) {
	cluster := testcluster.Start(t)
	argocd := StartArgoCD(t, cluster)
	t.Run("annotation", func(t *testing.T) {
		for name, options := range map[string]string{"client": "[]", "server": "[ServerSideApply=true]"} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				moveFromArgoCD(t, cluster, argocd, name, options, "argocd.argoproj.io/tracking-id: moving-"+name+":")
			})
		}
	})
	t.Run("label", func(t *testing.T) {
		cluster.Kubectl(t, "patch", "configmap", "argocd-cm", "-n", "argocd", "--type=merge", "-p", `{"data":{"application.resourceTrackingMethod":"label"}}`)
		time.Sleep(3 * time.Second) // Argo CD reads it again
		moveFromArgoCD(t, cluster, argocd, "label", "[]", "app.kubernetes.io/instance: moving-label")
	})
}

func moveFromArgoCD(t *testing.T, cluster *testcluster.Cluster, argocd *ArgoCD, name, options, mark string) {
	namespace := "moving-" + name
	cluster.Kubectl(t, "create", "namespace", namespace)
	tree := movingTree(t, "argocd/application.yaml", `
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: `+namespace+`, namespace: argocd, finalizers: [resources-finalizer.argocd.argoproj.io]}
spec:
  project: default
  source: {repoURL: "`+argocd.Repository(namespace)+`", path: app, targetRevision: main}
  destination: {server: "https://kubernetes.default.svc", namespace: `+namespace+`}
  syncPolicy: {automated: {prune: true, selfHeal: true}, syncOptions: `+options+`}
`, "app/hooks.yaml", `
apiVersion: batch/v1
kind: Job
metadata: {name: migrate, annotations: {argocd.argoproj.io/hook: PreSync, argocd.argoproj.io/hook-delete-policy: BeforeHookCreation}}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: "migrate:1"}]}}}
---
apiVersion: batch/v1
kind: Job
metadata: {name: warm, annotations: {argocd.argoproj.io/hook: PostSync, argocd.argoproj.io/hook-delete-policy: HookSucceeded}}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: "warm:1"}]}}}
`)
	argocd.Publish(t, tree, namespace)
	argocd.UntilSynced(t, namespace, 1, 3*time.Minute)
	m := moving{cluster, tree, namespace, "4 adopt", 4} // hooks are no members, and run as a sync runs them
	m.movesOver(t, "Argo CD Application argocd/"+namespace+": it is synced automatically", "argocd-controller", mark)
	// Argo CD, asked to look at it again, only finds that it is out of sync.
	cluster.Kubectl(t, "annotate", "--overwrite", "-n", "argocd", "application/"+namespace, "argocd.argoproj.io/refresh=hard")
	m.isForgotten(t, "application.argoproj.io", "argocd", namespace)
}

// moving is an application that an engine applied.
type moving struct {
	cluster   *testcluster.Cluster
	tree      string // app/app.yaml is the stream; app/left.yaml is only the engine's
	namespace string
	adopts    string // of the plan
	ready     int
}

// movesOver moves the application over, and requires the promises of its page.
func (m moving) movesOver(t *testing.T, active, manager, mark string) {
	t.Helper()
	before := m.state(t)
	require.Contains(t, m.live(t), mark)
	// While the engine still applies it, plan and apply refuse, and write nothing.
	for _, verb := range []string{"plan", "apply"} {
		text, code := m.ordapply(t, verb, "--take-over", "--prune")
		require.Equal(t, 1, code, text)
		require.Contains(t, text, "error: take over the objects of "+active)
		if verb == "apply" {
			m.run(t, text)
		}
	}
	require.Equal(t, before, m.state(t))
	// The command that the message names stops it. plan shows apply's actions.
	text, code := m.ordapply(t, "plan", "--take-over", "--prune")
	require.Equal(t, 0, code, text)
	require.Regexp(t, `(?m)^`+m.adopts+`, 1 prune$`, text)
	require.NotContains(t, text, "conflict")
	text, code = m.ordapply(t, "apply", "--take-over", "--prune")
	require.Equal(t, 0, code, text)
	require.Contains(t, text, fmt.Sprintf("%d ready, 1 deleted, ", m.ready))
	require.Contains(t, text, "note: took over the fields of field manager "+manager+" on ")
	require.NotContains(t, text, "hunter2")
	m.forget(t, text)
	require.Equal(t, before, m.state(t), "no Pod restarts")
	m.isComplete(t, manager)
}

// forget keeps the command of a run's note for isForgotten.
func (m moving) forget(t *testing.T, text string) {
	t.Helper()
	require.Regexp(t, `note: takes over .*: once the run has succeeded, delete it`, text)
	require.NoError(t, os.WriteFile(filepath.Join(m.tree, "note"), []byte(text), 0o600))
}

// isForgotten runs the command that the note of the run names, and requires that it deletes the
// record of the engine and no object.
func (m moving) isForgotten(t *testing.T, resource, namespace, name string) {
	t.Helper()
	before := m.state(t)
	time.Sleep(12 * time.Second) // two intervals of either engine
	require.Equal(t, before, m.state(t))
	m.isComplete(t, "")
	text, err := os.ReadFile(filepath.Join(m.tree, "note"))
	require.NoError(t, err)
	_, note, _ := strings.Cut(string(text), "note: takes over ")
	m.run(t, note)
	require.False(t, exists(m.cluster, resource, namespace, name))
	time.Sleep(5 * time.Second)
	require.Equal(t, before, m.state(t))
	m.isComplete(t, "")
}

// isComplete requires that a run has nothing to do, and that no field is left of a manager.
func (m moving) isComplete(t *testing.T, manager string) {
	t.Helper()
	require.False(t, exists(m.cluster, "configmap", m.namespace, "left"))
	text, code := m.ordapply(t, "diff")
	require.Equal(t, 0, code, text)
	text, code = m.ordapply(t, "apply", "--prune")
	require.Equal(t, 0, code, text)
	require.Regexp(t, fmt.Sprintf(`; %d unchanged(; 2 hooks ran)?\n`, m.ready), text) // Argo CD's hooks run at each sync
	require.NotContains(t, text, "note: ")
	if manager == "" {
		return
	}
	live := m.live(t)
	require.NotContains(t, live, "manager: "+manager)
	require.NotContains(t, live, "tracking-id")
	require.NotContains(t, live, "toolkit.fluxcd.io")
}

// ordapply runs a command about the stream, and returns its output and its exit code.
func (m moving) ordapply(t *testing.T, verb string, flags ...string) (string, int) {
	t.Helper()
	program, err := testcluster.Find("ordapply")
	if err != nil {
		testcluster.Skip(t, "ordapply (run `make build`)")
	}
	stream := []string{verb, "-f", filepath.Join(m.tree, "app", "app.yaml")}
	hooks := filepath.Join(m.tree, "app", "hooks.yaml")
	if _, err := os.Stat(hooks); err == nil {
		stream = append(stream, "-f", hooks)
	}
	cmd := exec.Command(program, append(stream, append([]string{"-n", m.namespace, "--applyset", "moved", "--kubeconfig", m.cluster.Kubeconfig}, flags...)...)...)
	out, _ := cmd.CombinedOutput()
	return string(out), cmd.ProcessState.ExitCode()
}

// run runs the command that a message names.
func (m moving) run(t *testing.T, message string) {
	t.Helper()
	command := regexp.MustCompile(`(?m): run (kubectl .*)$`).FindStringSubmatch(message)
	require.NotNil(t, command, message)
	cmd := exec.Command("sh", "-c", command[1])
	cmd.Env = append(os.Environ(), "KUBECONFIG="+m.cluster.Kubeconfig, "PATH="+m.cluster.BinDir(t)+string(os.PathListSeparator)+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
}

// live returns the objects of the stream that stay when it is applied again.
func (m moving) live(t *testing.T) string {
	t.Helper()
	return m.cluster.Kubectl(t, "get", "service,deployment,secret,configmap", "-n", m.namespace, "-l", "part=web", "-o", "yaml", "--show-managed-fields")
}

// state returns the Pods and the hashes of their templates.
func (m moving) state(t *testing.T) string {
	t.Helper()
	m.cluster.Kubectl(t, "rollout", "status", "deployment/web", "-n", m.namespace, "--timeout=60s")
	return m.cluster.Kubectl(t, "get", "pods", "-n", m.namespace, "-l", "app=web", "-o", `jsonpath={range .items[*]}{.metadata.name} {.metadata.uid} {.metadata.labels.pod-template-hash}{"\n"}{end}`)
}

// movingTree writes the application, and files with the objects of an engine.
func movingTree(t *testing.T, files ...string) string {
	t.Helper()
	tree := t.TempDir()
	files = append(files, "app/app.yaml", movingStream, "app/left.yaml", "{apiVersion: v1, kind: ConfigMap, metadata: {name: left}, data: {a: \"1\"}}\n")
	for i := 0; i < len(files); i += 2 {
		path := filepath.Join(tree, files[i])
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(files[i+1]), 0o600))
	}
	return tree
}

const movingStream = `apiVersion: v1
kind: Service
metadata: {name: web, labels: {part: web}}
spec: {selector: {app: web}, ports: [{port: 80}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {part: web}}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - {name: web, image: "web:1", envFrom: [{secretRef: {name: web}}, {configMapRef: {name: web}}]}
---
apiVersion: v1
kind: Secret
metadata: {name: web, labels: {part: web}}
stringData: {password: hunter2}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: web, labels: {part: web}}
data: {a: "1"}
`
