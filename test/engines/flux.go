package engines

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/test/engines/binaries"
	"github.com/ordapply/ordapply/test/testcluster"
)

// Flux is a running source-controller and kustomize-controller, with a registry for their
// sources.
type Flux struct {
	cluster  *testcluster.Cluster
	registry string // host:port
}

// StartFlux runs Flux's controllers against a cluster until the test ends. A dependency is
// looked at again after a second instead of 30.
func StartFlux(t *testing.T, cluster *testcluster.Cluster) *Flux {
	t.Helper()
	dir, programs := t.TempDir(), built(t, binaries.Flux())
	cluster.Kubectl(t, "create", "namespace", "flux-system")
	for _, folder := range binaries.Flux().CRDFolders(programs) {
		cluster.Kubectl(t, "apply", "--server-side", "-k", folder)
	}
	untilServed(t, cluster, "ocirepositories.source.toolkit.fluxcd.io", "kustomizations.kustomize.toolkit.fluxcd.io")
	env := []string{"KUBECONFIG=" + cluster.Kubeconfig, "RUNTIME_NAMESPACE=flux-system"}
	f := &Flux{cluster: cluster, registry: StartRegistry(t)}
	storage, health := local(freePort(t)), local(freePort(t))
	start(t, dir, "source-controller", filepath.Join(programs, "source-controller"), env, "--storage-path", t.TempDir(), "--storage-addr", storage, "--storage-adv-addr", storage,
		"--metrics-addr", local(freePort(t)), "--health-addr", health).untilAnswers(t, "http://"+health+"/readyz")
	health = local(freePort(t))
	start(t, dir, "kustomize-controller", filepath.Join(programs, "kustomize-controller"), env, "--requeue-dependency", "1s", "--metrics-addr", local(freePort(t)), "--health-addr", health,
		"--no-cross-namespace-refs", "--no-remote-bases").untilAnswers(t, "http://"+health+"/readyz")
	return f
}

// StartRegistry runs a registry until the test ends, and returns its address.
func StartRegistry(t *testing.T) string {
	t.Helper()
	address := local(freePort(t))
	_, port, _ := strings.Cut(address, ":")
	start(t, t.TempDir(), "registry", filepath.Join(built(t, binaries.Flux()), "registry"), nil, "-port", port).untilAnswers(t, "http://"+address+"/v2/")
	return address
}

// Agent is the user agent that Flux writes with.
func (*Flux) Agent() string { return "kustomize-controller" }

// Source is the address at which a tree will be published.
func (f *Flux) Source(name string) string { return "oci://" + f.registry + "/" + name }

// Publish pushes an exported tree, and applies its source and then its Kustomizations.
func (f *Flux) Publish(t *testing.T, tree, name string) {
	t.Helper()
	require.NoError(t, push(tree, f.registry+"/"+name+":latest"))
	f.Apply(t, tree, name)
}

// Apply applies the source of a tree that was pushed, and then its Kustomizations.
func (f *Flux) Apply(t *testing.T, tree, name string) {
	t.Helper()
	f.cluster.Kubectl(t, "apply", "-f", filepath.Join(tree, "flux", "source.yaml"))
	f.cluster.Kubectl(t, "wait", "--for=condition=Ready", "--timeout=120s", "-n", "flux-system", "ocirepository/"+name)
	f.cluster.Kubectl(t, "apply", "-f", filepath.Join(tree, "flux", "kustomizations.yaml"))
}

// Republish pushes a changed tree to the same tag, and makes Flux look at it.
func (f *Flux) Republish(t *testing.T, tree, name string) {
	t.Helper()
	require.NoError(t, push(tree, f.registry+"/"+name+":latest"))
	f.cluster.Kubectl(t, "apply", "-f", filepath.Join(tree, "flux", "kustomizations.yaml"))
	f.cluster.Kubectl(t, "annotate", "--overwrite", "-n", "flux-system", "ocirepository/"+name, "reconcile.fluxcd.io/requestedAt="+time.Now().String())
}

// UntilReady waits until the Kustomizations whose names begin with the name are ready.
func (f *Flux) UntilReady(t *testing.T, name string, limit time.Duration) {
	t.Helper()
	wait(t, limit, func() bool {
		ready := 0
		for line := range strings.Lines(f.conditions()) {
			if !strings.HasPrefix(line, name+"-") {
				continue
			}
			if !strings.Contains(line, ": True ") {
				return false
			}
			ready++
		}
		return ready > 0
	}, func() string { return fmt.Sprintf("Flux is not done after %s:\n%s", limit, f.status()) })
}

// conditions returns the conditions of the Kustomizations, a line for each.
func (f *Flux) conditions() string {
	out, _ := f.cluster.TryKubectl("get", "kustomizations", "-n", "flux-system", "-o", `jsonpath={range .items[*]}{.metadata.name}: {.status.conditions[?(@.type=="Ready")].status} {.status.conditions[?(@.type=="Ready")].reason} {.status.conditions[?(@.type=="Ready")].message}{"\n"}{end}`)
	return out
}

// status returns the conditions of the Kustomizations, and Flux's warnings.
func (f *Flux) status() string {
	events, _ := f.cluster.TryKubectl("get", "events", "-n", "flux-system", "--field-selector=type=Warning", "-o", `jsonpath={range .items[*]}{.involvedObject.name}: {.message}{"\n"}{end}`)
	return f.conditions() + events
}
