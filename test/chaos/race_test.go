package chaos

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/internal/cli/report"
	"github.com/ordapply/ordapply/test/recorder"
)

// Two runs on one set run one after the other: their writes do not interleave, and at the
// end the set is the last run's.
func TestRacingRuns(t *testing.T) {
	lab := newChaosLab(t, chaosCommand(t), shared.Get(t))
	trial := lab.newTrial(t, chaosAct{name: "race"}, 12, "two")
	streams := []string{"old", "new"}
	proxies := make([]*recorder.Proxy, len(streams))
	requested := []chan struct{}{make(chan struct{}), make(chan struct{})} // for the Lease, by each
	var runs sync.WaitGroup
	for i, stream := range streams {
		proxies[i] = recorder.Start(t, lab.cluster.Kubeconfig)
		proxies[i].Inject(meeting(requested[i], requested[1-i]))
		cmd := trial.command(proxies[i].Kubeconfig, []string{"apply", "-f", stream + ".yaml", "--applyset", "set", "-n", "NAMESPACE", "--prune"})
		runs.Go(func() { expectDone(t, cmd) })
	}
	runs.Wait()
	first, last := 0, 1
	from, to := writes(t, proxies[0])
	otherFrom, otherTo := writes(t, proxies[1])
	if otherFrom.Before(from) {
		first, last = 1, 0
		from, to, otherFrom, otherTo = otherFrom, otherTo, from, to
	}
	require.True(t, otherFrom.After(to), "%s wrote from %s to %s, %s from %s to %s", streams[first], from, to, streams[last], otherFrom, otherTo)
	trial.knowsAll(t)
	trial.converged(t, chaosAct{after: streams[last]})
	t.Run("from two namespaces", func(t *testing.T) { raceFromTwoNamespaces(t, lab) })
}

// raceFromTwoNamespaces: two runs that create one set with a cluster-scoped
// parent, each from its own namespace, use the same Lease: that of the run that
// claimed the set first.
func raceFromTwoNamespaces(t *testing.T, lab chaosLab) {
	definition, err := exec.Command(lab.bin, "applyset", "crd").Output()
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "crd.yaml")
	require.NoError(t, os.WriteFile(file, definition, 0o600))
	lab.cluster.Kubectl(t, "apply", "--server-side", "-f", file)
	lab.cluster.Established(t, "crd/applysets.ordapply.dev")
	var bothLocked, bothClaim, runs sync.WaitGroup
	bothLocked.Add(2)
	bothClaim.Add(2)
	names := []string{"race-left", "race-right"}
	for _, name := range names {
		lab.create(t, "Namespace", "", name, nil)
	}
	for _, name := range names {
		file := filepath.Join(t.TempDir(), name+".yaml")
		text := fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s, namespace: race-left}\n", name)
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		proxy := recorder.Start(t, lab.cluster.Kubeconfig)
		var first, claim sync.Once
		proxy.Inject(func(r *recorder.Request) recorder.Fault {
			switch {
			case r.Verb == "create" && r.Resource == "leases":
				first.Do(func() { bothLocked.Done(); bothLocked.Wait() })
			case r.Verb == "patch" && r.Resource == "applysets":
				claim.Do(func() { bothClaim.Done(); bothClaim.Wait() })
			}
			return nil
		})
		cmd := exec.Command(lab.bin, "apply", "-f", file, "--applyset", "applysets.ordapply.dev/race", "-n", name, "--prune", "--lock-timeout", "1m", "--kubeconfig", proxy.Kubeconfig)
		runs.Go(func() { expectDone(t, cmd) })
	}
	runs.Wait()
	left := strings.Fields(lab.cluster.Kubectl(t, "get", "configmaps", "-n", "race-left", "-l", applyset.PartOfLabel, "-o", "name"))
	require.Len(t, left, 1, "the last run pruned what the first had applied, and no more")
	home := strings.TrimSpace(lab.cluster.Kubectl(t, "get", "applysets.ordapply.dev", "race", "-o", `jsonpath={.metadata.annotations.ordapply\.dev/home}`))
	require.Contains(t, names, home)
	revisions := strings.Fields(lab.cluster.Kubectl(t, "get", "secrets", "-A", "-l", "ordapply.dev/revision", "-o", "jsonpath={.items[*].metadata.namespace}"))
	require.NotContains(t, revisions, names[1-slices.Index(names, home)], "all of the history is where the lock is")
}

// A rollback after a failure runs under the same lock: a run that waits for the
// lock comes after both.
func TestRollbackOnFailureKeepsTheLock(t *testing.T) {
	lab := newChaosLab(t, chaosCommand(t), shared.Get(t))
	applies := func(stream string) []string {
		return []string{"apply", "-f", stream + ".yaml", "--applyset", "set", "-n", "NAMESPACE", "--prune"}
	}
	trial := lab.newTrial(t, chaosAct{name: "undo", before: [][]string{applies("old")}}, 12, "two")
	broken := chaosStream(trial.namespace, "old", trial.members("old")) + brokenConfigMap(trial.namespace)
	require.NoError(t, os.WriteFile(filepath.Join(trial.dir, "broken.yaml"), []byte(broken), 0o600))
	waits, goesBack := make(chan struct{}), make(chan struct{})
	first, second := recorder.Start(t, lab.cluster.Kubeconfig), recorder.Start(t, lab.cluster.Kubeconfig)
	var seen, refused sync.Once
	second.Inject(func(r *recorder.Request) recorder.Fault {
		if r.Verb == "get" && r.Resource == "leases" {
			seen.Do(func() { close(waits) })
		}
		return nil
	})
	var mu sync.Mutex
	held := map[string]bool{} // holders of the lock, as each write found it
	first.Inject(func(r *recorder.Request) recorder.Fault {
		if r.Verb != "patch" {
			return nil
		}
		if r.Name == "broken" {
			refused.Do(func() { close(goesBack) })
			<-waits
		}
		since := lab.cluster.Kubectl(t, "get", "lease", "ordapply.secret.set", "-n", trial.namespace, "-o", "jsonpath={.spec.holderIdentity} {.spec.acquireTime}")
		mu.Lock()
		defer mu.Unlock()
		held[since] = true
		return nil
	})
	var runs sync.WaitGroup
	failing := trial.command(first.Kubeconfig, append(applies("broken"), "--rollback-on-failure"))
	runs.Go(func() {
		output, _ := failing.CombinedOutput()
		if code := failing.ProcessState.ExitCode(); code != report.ExitFailed || !strings.HasSuffix(string(output), "\nrolled back to revision 1\n") {
			t.Errorf("exit code %d: %s", code, output)
		}
	})
	<-goesBack
	waiting := trial.command(second.Kubeconfig, applies("new"))
	runs.Go(func() { expectDone(t, waiting) })
	runs.Wait()
	require.Len(t, held, 1, "the lock was taken anew: %v", held)
	_, to := writes(t, first)
	from, _ := writes(t, second)
	require.True(t, from.After(to), "the waiting run wrote at %s, the rollback until %s", from, to)
	trial.knowsAll(t)
	trial.converged(t, chaosAct{after: "new"})
}

// brokenConfigMap returns a ConfigMap that the API server rejects.
func brokenConfigMap(namespace string) string {
	return "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: broken, namespace: " + namespace + ", annotations: {ordapply.dev/layer: app/l2, ordapply.dev/wave: \"2\"}}\ndata: {no/key: \"1\"}\n"
}

// meeting delays the writes of a run until the other has requested the lock, so
// that both compete for the set.
func meeting(asks, other chan struct{}) func(*recorder.Request) recorder.Fault {
	var once sync.Once
	return func(r *recorder.Request) recorder.Fault {
		switch {
		case r.Resource == "leases":
			once.Do(func() { close(asks) })
		case isWrite(r):
			select {
			case <-other:
			case <-time.After(time.Minute):
			}
		}
		return nil
	}
}

func expectDone(t *testing.T, cmd *exec.Cmd) {
	output, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%s: %v", output, err)
	}
}

// isWrite reports whether a request writes anything but the Lease and the
// Namespace, which may be created before the lock in it.
func isWrite(r *recorder.Request) bool {
	read := slices.Contains([]string{"get", "list", "watch", "discovery", "review"}, r.Verb)
	return !read && r.Resource != "leases" && r.Resource != "namespaces" && !strings.Contains(r.URL.RawQuery, "dryRun")
}

// writes returns the arrival of the first and the last write.
func writes(t *testing.T, proxy *recorder.Proxy) (from, to time.Time) {
	for _, r := range proxy.Requests() {
		if !isWrite(&r) {
			continue
		}
		if from.IsZero() {
			from = r.Arrived
		}
		to = r.Arrived
	}
	require.False(t, from.IsZero())
	return from, to
}
