package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/test/auditlog"
	"github.com/ordapply/ordapply/test/observer"
	"github.com/ordapply/ordapply/test/testcluster"
)

// cases is the folder of the end-to-end cases. The namespace of a case has its name.
const cases = "../../testdata"

// emitLayers returns the resources of the case placed, layer by layer. Each
// tool's own order of kinds would reverse them.
func emitLayers(namespace string) [][]auditlog.Key {
	return [][]auditlog.Key{
		{{Resource: "services", Namespace: namespace, Name: "database"}, {Resource: "deployments", Namespace: namespace, Name: "database"}},
		{{Resource: "jobs", Namespace: namespace, Name: "migrate"}},
		{{Resource: "configmaps", Namespace: namespace, Name: "front"}, {Resource: "serviceaccounts", Namespace: namespace, Name: "front"}, {Resource: "deployments", Namespace: namespace, Name: "front"}},
	}
}

// TestEmitIsKept applies a stream with each tool that emit supports and checks
// in the API server's audit log that it kept the order: a layer was created
// after the one before it was ready, and deleted before it.
func TestEmitIsKept(t *testing.T) {
	kapp, kapply := peer(t, "kapp"), peer(t, "kapply")
	cluster := testcluster.Start(t)
	for namespace, work := range map[string]emitReader{
		"by-kapp":   kappReader(kapp),
		"by-kapply": kapplyReader(kapply),
	} {
		t.Run(namespace, func(t *testing.T) {
			dir := t.TempDir()
			require.NoError(t, os.WriteFile(filepath.Join(dir, "stream.yaml"), emitted(t, namespace), 0o644))
			watch, err := observer.Start(t.Context(), cluster.Kubeconfig)
			require.NoError(t, err)
			for _, command := range work.apply {
				runPeer(t, cluster, dir, command)
			}
			watch.Stop()
			runPeer(t, cluster, dir, work.remove)
			log, err := auditlog.Read(cluster.AuditLog())
			require.NoError(t, err)
			requireOrder(t, log, emitLayers(namespace), func(key auditlog.Key) time.Time { return work.readyAt(t, log, watch, key) })
		})
	}
}

// emitReader describes how a tool applies and deletes the file stream.yaml of
// its working directory.
type emitReader struct {
	apply  [][]string
	remove []string
	waits  []string // the kinds for which it waits until they are ready
}

func kappReader(bin string) emitReader {
	return emitReader{
		apply:  [][]string{{bin, "deploy", "--yes", "--app", "proof", "--file", "stream.yaml", "--wait-check-interval", "500ms"}},
		remove: []string{bin, "delete", "--yes", "--app", "proof", "--wait-check-interval", "500ms"},
		waits:  []string{"deployments", "jobs"},
	}
}

// kapplyReader uses the engine of kpt live with its own command line. It treats
// a Job as ready as soon as it runs.
func kapplyReader(bin string) emitReader {
	return emitReader{
		apply:  [][]string{{bin, "init", "."}, {bin, "apply", ".", "--reconcile-timeout", "5m"}},
		remove: []string{bin, "destroy", "."},
		waits:  []string{"deployments"},
	}
}

// peer returns the path of a tool that `make emit-peers` builds.
func peer(t *testing.T, name string) string {
	t.Helper()
	at := toolPath(name)
	if at == "" {
		testcluster.Skip(t, name+" (run `make emit-peers`)")
	}
	return at
}

// emitted returns the stamped stream of the case placed in a namespace.
func emitted(t *testing.T, namespace string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(cases, "placed", "stream.yaml"))
	require.NoError(t, err)
	return stamped(t, strings.ReplaceAll(string(text), "placed", namespace))
}

func runPeer(t *testing.T, cluster *testcluster.Cluster, dir string, command []string) {
	t.Helper()
	out, err := tryPeer(cluster, dir, command)
	require.NoError(t, err, "%s\n%s", strings.Join(command, " "), out)
}

func tryPeer(cluster *testcluster.Cluster, dir string, command []string) (out string, err error) {
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "KUBECONFIG="+cluster.Kubeconfig)
	text, err := cmd.CombinedOutput()
	return string(text), err
}

// requireOrder compares every resource of a layer with every one of the next
// layer.
func requireOrder(t *testing.T, log *auditlog.Log, layers [][]auditlog.Key, readyAt func(auditlog.Key) time.Time) {
	t.Helper()
	for i := range layers[1:] {
		for _, earlier := range layers[i] {
			for _, later := range layers[i+1] {
				require.Contains(t, log.Created, later)
				require.True(t, readyAt(earlier).Before(log.Created[later]), "%v was created before %v was ready", later, earlier)
				require.Contains(t, log.Deleted, later)
				require.Contains(t, log.Deleted, earlier)
				require.True(t, log.Deleted[later].Before(log.Deleted[earlier]), "%v was deleted before %v", earlier, later)
			}
		}
	}
}

// readyAt returns the arrival of the write that made a resource ready: for
// kinds that the tool does not wait for, the first write.
func (r emitReader) readyAt(t *testing.T, log *auditlog.Log, watch *observer.Observer, key auditlog.Key) time.Time {
	t.Helper()
	require.Contains(t, log.Created, key)
	if !slices.Contains(r.waits, key.Resource) {
		return log.Created[key]
	}
	version, seen := watch.ReadyAt(key)
	require.True(t, seen, "the second watch never saw %v ready", key)
	require.Contains(t, log.Writes, version)
	return log.Writes[version]
}
