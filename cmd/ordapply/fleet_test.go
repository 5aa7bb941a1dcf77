package main

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/internal/cli/report"
	"github.com/ordapply/ordapply/test/auditlog"
	"github.com/ordapply/ordapply/test/recorder"
	"github.com/ordapply/ordapply/test/testcluster"
)

// fleetMember is a control plane of its own, behind a proxy that counts its requests.
type fleetMember struct {
	*testcluster.Cluster
	proxy *recorder.Proxy
}

// writes returns ordapply's writes, by the API server's audit log.
func (m fleetMember) writes(t *testing.T) []auditlog.Write {
	t.Helper()
	log, err := auditlog.Read(m.AuditLog())
	require.NoError(t, err)
	return slices.DeleteFunc(log.Sent, func(w auditlog.Write) bool { return strings.HasPrefix(w.Resource, "selfsubject") }) // questions
}

// since returns the writes after the first n.
func (m fleetMember) since(t *testing.T, n int) []auditlog.Write { return m.writes(t)[n:] }

func (m fleetMember) version(t *testing.T) string {
	t.Helper()
	return m.Kubectl(t, "get", "configmap", "second", "--ignore-not-found", "-o", "jsonpath={.data.version}")
}

// Four control planes, in three cohorts: a good one and a slow one, one that may fail, and
// one that may not be reached. The audit logs of their API servers tell the writes and their
// times.
func TestFleetOfFourClusters(t *testing.T) {
	t.Parallel()
	bin, err := testcluster.Find("ordapply")
	if err != nil {
		testcluster.Skip(t, "the ordapply command (run `make build`)")
	}
	members := map[string]fleetMember{}
	for _, name := range []string{"good", "slow", "frail", "far"} {
		cluster := testcluster.Start(t, "--light")
		members[name] = fleetMember{cluster, recorder.Start(t, cluster.Kubeconfig)}
	}
	good, slow, frail, far := members["good"], members["slow"], members["frail"], members["far"]
	slow.proxy.Inject(recorder.Always(recorder.Verb("patch", "configmaps"), slow.proxy.Slowly(time.Second)))
	frail.Kubectl(t, "create", "configmap", "second")
	frail.Kubectl(t, "patch", "configmap", "second", "-p", `{"immutable":true}`)
	dir := t.TempDir()
	file := filepath.Join(dir, "fleet.yaml")
	require.NoError(t, os.WriteFile(file, fleetOf(members, "rest: [frail]", "last: [far]"), 0o600))
	apply := func(version int, more ...string) *exec.Cmd {
		args := append([]string{"apply", "-f", "-", "--fleet", file, "--fleet-kubeconfigs", "--applyset", "shop", "--adopt=unowned", "--lock-timeout=1m"}, more...)
		cmd := exec.Command(bin, args...)
		cmd.Stdin = bytes.NewReader(fleetStream(version))
		return cmd
	}

	t.Run("a failed cohort stops the next", func(t *testing.T) {
		out, err := apply(1).CombinedOutput()
		require.Equal(t, report.ExitFailed, exitCode(err), string(out))
		require.Contains(t, string(out), "frail: error: wave 2/2")
		require.Regexp(t, `(?m)^last +far +not started: cohort rest failed$`, string(out))
		require.Equal(t, "1", good.version(t))
		require.Equal(t, "1", slow.version(t))
		require.Empty(t, far.writes(t), "nothing was written to a cluster of a later cohort")
		first := frail.writes(t)[0].Arrived
		for _, m := range []fleetMember{good, slow} {
			for _, w := range m.writes(t) {
				require.True(t, w.Arrived.Before(first), "%+v was sent after the next cohort began", w)
			}
		}
		for _, m := range []fleetMember{good, slow, frail} { // sets and history are each cluster's own
			require.Contains(t, m.Kubectl(t, "get", "secrets", "-o", "name"), "secret/shop")
		}
	})

	t.Run("and goes on when it is repaired, with what was done unchanged", func(t *testing.T) {
		frail.Kubectl(t, "delete", "configmap", "second")
		before := map[string]int{"good": len(good.writes(t)), "slow": len(slow.writes(t))}
		out, err := apply(1).CombinedOutput()
		require.NoError(t, err, string(out))
		for name, n := range before {
			require.Empty(t, objects(members[name].since(t, n)), "%s was done before", name)
			require.Regexp(t, `(?m)^first +`+name+` +unchanged +2 ready`, string(out))
		}
		require.Equal(t, "1", far.version(t))
	})

	t.Run("after a kill the same command finishes", func(t *testing.T) {
		cmd := apply(2)
		err := frail.proxy.RunSignalled(cmd, os.Kill, func(r *recorder.Request) bool {
			return r.Verb == "patch" && r.Resource == "configmaps" && r.Name == "second"
		})
		var exited *exec.ExitError
		require.ErrorAs(t, err, &exited)
		require.Equal(t, -1, exited.ExitCode(), "it was killed")
		frail.proxy.Inject(nil)
		require.Equal(t, "1", far.version(t), "its turn had not come")
		done := map[string]int{"good": len(good.writes(t)), "slow": len(slow.writes(t))}
		out, err := apply(2).CombinedOutput() // the lock that was left behind expires
		require.NoError(t, err, string(out))
		for name, n := range done {
			require.Empty(t, objects(members[name].since(t, n)), "%s was done before the kill", name)
		}
		for _, m := range members {
			require.Equal(t, "2", m.version(t))
		}
	})

	t.Run("with the requests of a single run", func(t *testing.T) {
		for _, m := range members {
			m.proxy.Reset()
			m.proxy.Inject(nil)
		}
		// so that what the check reads meanwhile is sent
		good.proxy.Inject(recorder.Always(recorder.Verb("review", "selfsubjectaccessreviews"), good.proxy.Slowly(time.Second)))
		out, err := apply(3).CombinedOutput()
		require.NoError(t, err, string(out))
		inFleet := requestsBy(good.proxy)
		far.Kubectl(t, "delete", "configmaps,secrets,leases", "--all")
		require.NoError(t, aloneOn(bin, far, 2).Run()) // the state that good had
		far.proxy.Reset()
		require.NoError(t, aloneOn(bin, far, 3).Run())
		alone := requestsBy(far.proxy)
		require.Positive(t, alone["patch configmaps"])
		for _, twice := range []string{"discovery", "review selfsubjectaccessreviews", "review selfsubjectrulesreviews"} { // also for the plan, before anything is written
			alone[twice] *= 2
		}
		for _, counts := range []map[string]int{alone, inFleet} {
			delete(counts, "update leases") // the longer a run takes, the more often it renews its lock
		}
		maps.DeleteFunc(alone, func(_ string, n int) bool { return n == 0 })
		require.Equal(t, alone, inFleet)
	})

	t.Run("one that cannot be reached fails when its turn comes", func(t *testing.T) {
		mend := far.proxy.Break()
		defer mend()
		far.proxy.Inject(recorder.Always(func(*recorder.Request) bool { return true }, recorder.Reset))
		out, err := apply(4).CombinedOutput()
		require.Equal(t, report.ExitFailed, exitCode(err), string(out))
		require.Contains(t, string(out), "far: warning: it cannot be reached, and fails if that is still so when its turn comes")
		require.Regexp(t, `(?m)^last +far +failed `, string(out))
		require.Equal(t, "4", frail.version(t))
	})

	t.Run("so does one that never answers, within --timeout", func(t *testing.T) {
		far.proxy.Inject(recorder.Always(func(*recorder.Request) bool { return true }, far.proxy.Slowly(time.Minute)))
		out, err := apply(5, "--timeout=20s").CombinedOutput() // less than the 32 s of discovery
		require.Equal(t, report.ExitTimedOut, exitCode(err), string(out))
		require.Contains(t, string(out), "far: warning: it cannot be reached, and fails if that is still so when its turn comes: timed out after 20s")
		require.Regexp(t, `(?m)^last +far +timed out `, string(out))
		require.Equal(t, "5", frail.version(t))
	})
}

// fleetOf returns a file with a fleet of all members: good and slow first, and then the
// cohorts that are named.
func fleetOf(members map[string]fleetMember, later ...string) []byte {
	var text strings.Builder
	text.WriteString("apiVersion: ordapply.dev/v1alpha1\nkind: Fleet\nclusters:\n")
	for name, m := range members {
		fmt.Fprintf(&text, "- {name: %s, context: proxy, kubeconfig: %s}\n", name, m.proxy.Kubeconfig)
	}
	text.WriteString("cohorts:\n- {name: first, clusters: [good, slow]}\n")
	for _, cohort := range later {
		name, clusters, _ := strings.Cut(cohort, ": ")
		fmt.Fprintf(&text, "- {name: %s, clusters: %s}\n", name, clusters)
	}
	return []byte(text.String())
}

func fleetStream(version int) []byte {
	return fmt.Appendf(nil, `apiVersion: v1
kind: ConfigMap
metadata: {name: first, namespace: default}
data: {version: "%[1]d"}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: second, namespace: default, annotations: {argocd.argoproj.io/sync-wave: "1"}}
data: {version: "%[1]d"}
`, version)
}

func aloneOn(bin string, m fleetMember, version int) *exec.Cmd {
	cmd := exec.Command(bin, "apply", "-f", "-", "--kubeconfig", m.proxy.Kubeconfig, "--applyset", "shop", "--adopt=unowned", "--lock-timeout=1m")
	cmd.Stdin = bytes.NewReader(fleetStream(version))
	return cmd
}

// objects returns the writes of objects of the stream, without the set's own records.
func objects(writes []auditlog.Write) []auditlog.Write {
	return slices.DeleteFunc(writes, func(w auditlog.Write) bool { return w.Resource != "configmaps" })
}

// requestsBy counts requests by purpose.
func requestsBy(proxy *recorder.Proxy) map[string]int {
	counts := map[string]int{}
	for _, r := range proxy.Requests() {
		purpose := strings.TrimSpace(r.Verb + " " + r.Resource)
		if strings.HasPrefix(r.URL.Path, "/openapi/") {
			purpose = "schemas"
		}
		counts[purpose]++
	}
	return counts
}

func exitCode(err error) int {
	if err == nil {
		return report.ExitDone
	}
	failed, is := err.(*exec.ExitError) //nolint:errorlint // of exec itself
	if !is {
		return -1
	}
	return failed.ExitCode()
}
