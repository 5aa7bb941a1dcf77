package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/ordapply/ordapply/internal/cli/report"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/state/history"
	"github.com/ordapply/ordapply/state/set"
	"github.com/ordapply/ordapply/test/recorder"
	"github.com/ordapply/ordapply/test/testcluster"
)

const twoOfASet = `
apiVersion: v1
kind: ConfigMap
metadata: {name: a, namespace: set-verbs}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: b, namespace: set-verbs}
`

func TestSetVerbs(t *testing.T) {
	cluster := shared.Get(t)
	cluster.Kubectl(t, "create", "namespace", "set-verbs")
	code, output := applyThrough(cluster.Kubeconfig, []byte(twoOfASet), "--applyset", "shop", "-n", "set-verbs")
	require.Equal(t, report.ExitDone, code, output)
	t.Run("unchanged", func(t *testing.T) { testUnchangedSet(t, cluster) })
	t.Run("watch", func(t *testing.T) { testStatusWatch(t, cluster) })
	t.Run("another cluster", func(t *testing.T) { testOtherCluster(t, cluster) })
}

// testUnchangedSet: a second apply of an unchanged stream makes at most 3K + 20
// requests, with and without a set, and stores no revision.
func testUnchangedSet(t *testing.T, cluster *testcluster.Cluster) {
	proxy := recorder.Start(t, cluster.Kubeconfig)
	code, output := applyThrough(proxy.Kubeconfig, []byte(twoOfASet), "--applyset", "shop", "-n", "set-verbs", "--prune")
	require.Equal(t, report.ExitDone, code, output)
	verbs := map[string]int{}
	for _, r := range proxy.Requests() {
		verbs[r.Verb]++
		if r.Resource != "leases" {
			require.NotContains(t, []string{"create", "patch", "update", "delete"}, r.Verb, "%s %s", r.Resource, r.Name)
		}
	}
	t.Logf("%d requests: %v", len(proxy.Requests()), verbs)
	require.LessOrEqual(t, len(proxy.Requests()), 3*2+20)
}

// testStatusWatch: changes are printed as lines until an interrupt.
func testStatusWatch(t *testing.T, cluster *testcluster.Cluster) {
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	out, in := io.Pipe()
	ended := make(chan int, 1)
	go func() {
		var output bytes.Buffer
		ended <- run(ctx, []string{"status", "shop", "-n", "set-verbs", "--watch", "--kubeconfig", cluster.Kubeconfig}, nil, in, &output)
		_ = in.CloseWithError(io.EOF)
	}()
	lines := make(chan string, 100)
	go func() {
		defer close(lines)
		for scanner := bufio.NewScanner(out); scanner.Scan(); {
			lines <- scanner.Text()
		}
	}()
	awaitLine(t, lines, "all         2/2    Healthy")
	cluster.Kubectl(t, "delete", "configmap", "a", "-n", "set-verbs")
	awaitLine(t, lines, "ConfigMap set-verbs/a: missing: it does not exist, or is no longer a member of the set")
	awaitLine(t, lines, "(no layer): Degraded, 1/2 ready")
	code, output := applyThrough(cluster.Kubeconfig, []byte(twoOfASet), "--applyset", "shop", "-n", "set-verbs")
	require.Equal(t, report.ExitDone, code, output)
	awaitLine(t, lines, "ConfigMap set-verbs/a: ready")
	awaitLine(t, lines, "(no layer): Healthy, 2/2 ready")
	interrupt()
	require.Equal(t, report.ExitInterrupted, <-ended)
}

// awaitLine reads lines up to a given one.
func awaitLine(t *testing.T, lines <-chan string, want string) {
	t.Helper()
	var read []string
	for {
		select {
		case line, ok := <-lines:
			read = append(read, line)
			if strings.TrimSpace(line) == want {
				return
			}
			require.True(t, ok, "no line %q in\n%s", want, strings.Join(read, "\n"))
		case <-time.After(3 * time.Minute):
			require.Fail(t, "no such line", "%q in\n%s", want, strings.Join(read, "\n"))
		}
	}
}

// testOtherCluster: a revision from another cluster, restored from a backup, is
// not applied.
func testOtherCluster(t *testing.T, cluster *testcluster.Cluster) {
	config, err := clientcmd.BuildConfigFromFlags("", cluster.Kubeconfig)
	require.NoError(t, err)
	client, err := kube.Connect(config)
	require.NoError(t, err)
	set, err := set.Open(t.Context(), client, schema.GroupVersionKind{Version: "v1", Kind: "Secret"}, object.ID{Kind: "Secret", Namespace: "set-verbs", Name: "shop"}, false)
	require.NoError(t, err)
	revisions := history.History{Cluster: client, Parent: set.Parent, Vouchers: set.Vouchers()}
	revisions.Vouch = func(ctx context.Context, number int, next history.Vouchers) error {
		return set.Vouch(ctx, number, next, nil)
	}
	last, err := revisions.Last(t.Context())
	require.NoError(t, err)
	last.Cluster = "another"
	n, err := revisions.Begin(t.Context(), *last)
	require.NoError(t, err)
	revisions.Vouchers = set.Vouchers()
	require.NoError(t, revisions.End(t.Context(), n, history.Outcome{Status: history.Deployed}))

	proxy := recorder.Start(t, cluster.Kubeconfig)
	code, output := ordapplyWith(proxy.Kubeconfig, "rollback", "shop", "-n", "set-verbs", "--to-revision", "2")
	require.Equal(t, report.ExitFailed, code, output)
	require.Contains(t, output, "error: revision 2 was applied to another cluster (its kube-system namespace has uid another, that of ")
	for _, r := range proxy.Requests() {
		require.Contains(t, []string{"get", "list", "discovery"}, r.Verb, "%s %s", r.Resource, r.Name)
	}
}
