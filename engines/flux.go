package engines

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/internal/test/testcluster"
)

// Flux is a running source-controller and kustomize-controller, with a registry for what
// they read.
type Flux struct {
	cluster  *testcluster.Cluster
	registry string // host:port
}

// StartFlux runs Flux's controllers against a cluster until the test ends. A dependency is
// looked at again after a second instead of 30.
func StartFlux(t *testing.T, cluster *testcluster.Cluster) *Flux {
	t.Helper()
	dir := t.TempDir()
	registry, source, kustomize := program(t, "registry"), program(t, "source-controller"), program(t, "kustomize-controller")
	cluster.Kubectl(t, "create", "namespace", "flux-system")
	for _, module := range []string{"source-controller", "kustomize-controller"} {
		cluster.Kubectl(t, "apply", "--server-side", "-k", filepath.Join(moduleDir(t, "flux", "github.com/fluxcd/"+module), "config", "crd"))
	}
	untilServed(t, cluster, "ocirepositories.source.toolkit.fluxcd.io", "kustomizations.kustomize.toolkit.fluxcd.io")
	env := []string{"KUBECONFIG=" + cluster.Kubeconfig, "RUNTIME_NAMESPACE=flux-system"}
	f := &Flux{cluster: cluster, registry: local(freePort(t))}
	_, port, _ := strings.Cut(f.registry, ":")
	start(t, dir, "registry", registry, nil, "-port", port).untilAnswers(t, "http://"+f.registry+"/v2/")
	storage, health := local(freePort(t)), local(freePort(t))
	start(t, dir, "source-controller", source, env, "--storage-path", t.TempDir(), "--storage-addr", storage, "--storage-adv-addr", storage,
		"--metrics-addr", local(freePort(t)), "--health-addr", health).untilAnswers(t, "http://"+health+"/readyz")
	health = local(freePort(t))
	start(t, dir, "kustomize-controller", kustomize, env, "--requeue-dependency", "1s", "--metrics-addr", local(freePort(t)), "--health-addr", health,
		"--no-cross-namespace-refs", "--no-remote-bases").untilAnswers(t, "http://"+health+"/readyz")
	return f
}

// Agent is the user agent that Flux writes with.
func (*Flux) Agent() string { return "kustomize-controller" }

// Source is the address at which a tree will be published.
func (f *Flux) Source(name string) string { return "oci://" + f.registry + "/" + name }

// Publish pushes an exported tree, and applies its source and then its Kustomizations.
func (f *Flux) Publish(t *testing.T, tree, name string) {
	t.Helper()
	require.NoError(t, push(tree, f.registry+"/"+name+":latest"))
	f.cluster.Kubectl(t, "apply", "-f", filepath.Join(tree, "flux", "source.yaml"))
	f.cluster.Kubectl(t, "wait", "--for=condition=Ready", "--timeout=60s", "-n", "flux-system", "ocirepository/"+name)
	f.cluster.Kubectl(t, "apply", "-f", filepath.Join(tree, "flux", "kustomizations.yaml"))
}

// UntilReady waits until all Kustomizations are ready.
func (f *Flux) UntilReady(t *testing.T, limit time.Duration) {
	t.Helper()
	wait(t, limit, func() bool {
		out, err := f.cluster.TryKubectl("get", "kustomizations", "-n", "flux-system", "-o", `jsonpath={range .items[*]}{.status.conditions[?(@.type=="Ready")].status}{"\n"}{end}`)
		lines := strings.Split(strings.TrimSpace(out), "\n")
		return err == nil && !slices.ContainsFunc(lines, func(line string) bool { return line != "True" })
	}, func() string { return fmt.Sprintf("Flux is not done after %s:\n%s", limit, f.status()) })
}

// status returns what Flux says of its Kustomizations, and what it complained of.
func (f *Flux) status() string {
	conditions, _ := f.cluster.TryKubectl("get", "kustomizations", "-n", "flux-system", "-o", `jsonpath={range .items[*]}{.metadata.name}: {.status.conditions[?(@.type=="Ready")].status} {.status.conditions[?(@.type=="Ready")].message}{"\n"}{end}`)
	events, _ := f.cluster.TryKubectl("get", "events", "-n", "flux-system", "--field-selector=type=Warning", "-o", `jsonpath={range .items[*]}{.involvedObject.name}: {.message}{"\n"}{end}`)
	return conditions + events
}

// moduleDir returns the folder of a module that a wrapper module pins.
func moduleDir(t *testing.T, wrapper, module string) string {
	t.Helper()
	cmd := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", module)
	cmd.Dir, cmd.Env = wrapper, append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off")
	out, err := cmd.Output()
	require.NoError(t, err, module)
	return strings.TrimSpace(string(out))
}
