package chaos

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/internal/cli/report"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/state/history"
	"github.com/ordapply/ordapply/test/recorder"
)

// hookStream is a ConfigMap with a value, and hooks before and after an install and
// an upgrade.
func hookStream(value string) string {
	const hook = `---
apiVersion: batch/v1
kind: Job
metadata: {name: %s, annotations: {helm.sh/hook: "%s", helm.sh/hook-delete-policy: "before-hook-creation%s"}}
spec: {template: {metadata: {annotations: {value: %s}}, spec: {restartPolicy: Never, containers: [{name: c, image: c}]}}}
`
	return fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: app}\ndata: {value: %s}\n", value) +
		fmt.Sprintf(hook, "before-install", "pre-install", ",hook-succeeded", value) +
		fmt.Sprintf(hook, "after-install", "post-install", "", value) +
		fmt.Sprintf(hook, "before-upgrade", "pre-upgrade", "", value)
}

// newHookTrial is an apply set in a namespace of its own, with streams of two values.
func newHookTrial(t *testing.T, lab chaosLab, namespace string) trial {
	tr := trial{chaosLab: lab, dir: t.TempDir(), namespace: namespace}
	lab.create(t, "Namespace", "", namespace, nil)
	for _, value := range []string{"first", "second"} {
		require.NoError(t, os.WriteFile(filepath.Join(tr.dir, value+".yaml"), []byte(hookStream(value)), 0o600))
	}
	return tr
}

// value is the stream's value in the cluster.
func (tr trial) value(t *testing.T) string {
	t.Helper()
	kind, _ := tr.client.Kind(schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"})
	live, err := tr.client.Get(t.Context(), kind, tr.namespace, "app")
	require.NoError(t, err)
	value, _, _ := unstructured.NestedString(live.Object, "data", "value")
	return value
}

// deployed reports whether a revision of the set ever was.
func (tr trial) deployed(t *testing.T) bool {
	t.Helper()
	entries, err := history.History{Cluster: tr.client, Parent: tr.parent()}.List(t.Context())
	require.NoError(t, err)
	return slices.ContainsFunc(entries, func(e history.Entry) bool { return e.Status == history.Deployed || e.Status == history.Superseded })
}

// A first run with hooks that is killed with any of its requests was no install, unless
// its revision was deployed: the next run is one, begins the hooks again, and ends well.
func TestKilledInAHook(t *testing.T) {
	lab := newChaosLab(t, chaosCommand(t), shared.Get(t))
	whole := newHookTrial(t, lab, "hook-killed-whole")
	counter := recorder.Start(t, lab.cluster.Kubeconfig)
	output, err := whole.command(counter.Kubeconfig, applies("first.yaml")).CombinedOutput()
	require.NoError(t, err, string(output))
	for _, k := range hookKills(counter.Requests()) {
		t.Run(fmt.Sprintf("request %d, %s", k, counter.Requests()[k-1]), func(t *testing.T) {
			t.Parallel()
			tr := newHookTrial(t, lab, fmt.Sprintf("hook-killed-%d", k))
			proxy := recorder.Start(t, lab.cluster.Kubeconfig)
			var arrived atomic.Int32
			_ = proxy.RunSignalled(tr.command(proxy.Kubeconfig, applies("first.yaml")), os.Kill, func(*recorder.Request) bool { return arrived.Add(1) == int32(k) })
			tr.breakLock(t)
			upgrade := tr.deployed(t)
			output, err := tr.command(lab.cluster.Kubeconfig, applies("second.yaml")).CombinedOutput()
			require.NoError(t, err, string(output))
			require.Equal(t, "second", tr.value(t))
			if upgrade {
				require.Contains(t, string(output), "pre-upgrade hook Job "+tr.namespace+"/before-upgrade  done")
				return
			}
			require.Contains(t, string(output), "pre-install hook Job "+tr.namespace+"/before-install  done")
			require.Contains(t, string(output), "post-install hook Job "+tr.namespace+"/after-install  done")
			require.NotContains(t, string(output), "before-upgrade")
		})
	}
}

// hookKills are the requests with which runs are killed: the writes of Jobs, and some of
// the others; with `make chaos` all.
func hookKills(all []recorder.Request) []int {
	rng := rand.New(rand.NewPCG(1, 1))
	var ks []int
	for i, r := range all {
		if allChaos() || r.Resource == "jobs" && isWrite(&r) || rng.IntN(len(all)) < 6 {
			ks = append(ks, i+1)
		}
	}
	return ks
}

// A run that is suspended while it awaits a hook sends nothing more when it goes on
// after another run has finished.
func TestSuspendedInAHook(t *testing.T) {
	lab := newChaosLab(t, chaosCommand(t), shared.Get(t))
	tr := newHookTrial(t, lab, "hook-suspended")
	output, err := tr.command(lab.cluster.Kubeconfig, applies("first.yaml")).CombinedOutput()
	require.NoError(t, err, string(output))

	proxy := recorder.Start(t, lab.cluster.Kubeconfig)
	first := tr.command(proxy.Kubeconfig, applies("first.yaml"))
	var words bytes.Buffer
	first.Stderr = &words
	stopped, ended := stopAt(t, first, proxy, recorder.Verb("patch", "jobs"))
	<-stopped
	output, err = tr.command(lab.cluster.Kubeconfig, applies("second.yaml")).CombinedOutput()
	require.NoError(t, err, string(output))
	require.Contains(t, string(output), "pre-upgrade hook Job hook-suspended/before-upgrade  done")
	goesOn := time.Now()
	_ = first.Process.Signal(syscall.SIGCONT)
	<-ended
	require.Equal(t, report.ExitFailed, first.ProcessState.ExitCode(), words.String())
	require.Contains(t, words.String(), "error: this run lost its lock (Lease hook-suspended/ordapply.secret.set): another run took it and has ended since")
	for _, r := range proxy.Requests() {
		require.False(t, isWrite(&r) && r.Arrived.After(goesOn), "sent after it went on: %s", r)
	}
	require.Equal(t, "second", tr.value(t))
	kind, _ := lab.client.Kind(schema.GroupVersionKind{Group: "batch", Version: "v1", Kind: "Job"})
	jobs, err := lab.client.List(t.Context(), kind, tr.namespace, kube.Query{})
	require.NoError(t, err)
	for _, job := range jobs {
		if job.GetName() == "before-upgrade" {
			value, _, _ := unstructured.NestedString(job.Object, "spec", "template", "metadata", "annotations", "value")
			require.Equal(t, "second", value, "it took the place of the other run's hook")
		}
	}
}
