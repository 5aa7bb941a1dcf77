package unkind

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/test/testcluster"
)

// TestTime compares how long an apply takes with the time that the program takes by itself
// when everything is sent to the API server at once, again and again until it is accepted.
// ordapply may be a tenth slower, and a second for its other work.
func TestTime(t *testing.T) {
	if os.Getenv("ORDAPPLY_TIME") == "" {
		t.Skip("measures: set ORDAPPLY_TIME=1 on a machine that has nothing else to do")
	}
	ordapply := needPrograms(t)
	eachProgram(t, func(t *testing.T, stream []byte) {
		own := byItself(t, stream)
		tried := firstTry(t, ordapply, stream, nil)
		t.Logf("by itself %s, ordapply %s", own.Round(10*time.Millisecond), tried.took.Round(10*time.Millisecond))
		if strings.Contains(tried.output, "nothing has moved for 30s") {
			own += 30 * time.Second // a hook that only the program's readiness tells from others
		}
		require.Less(t, tried.took, own+own/10+time.Second)
	})
}

// byItself returns how long it takes until kubectl has applied a stream and all Pods are
// ready. Helm's order is the program's own: pre-install hooks have ended by then.
func byItself(t *testing.T, stream []byte) time.Duration {
	t.Helper()
	cluster, _, file := start(t, stream)
	text, err := os.ReadFile(file) // with the certificates of this cluster
	require.NoError(t, err)
	begin := time.Now()
	parts, err := Parts(text)
	require.NoError(t, err)
	for _, part := range parts {
		require.NoError(t, os.WriteFile(file, part, 0o644))
		await(t, func() (string, bool) { return tryKubectl(cluster, "apply", "--server-side", "-f", file) })
		await(t, func() (string, bool) { return "Pods are not ready", PodsAreReady(cluster) })
	}
	return time.Since(begin)
}

func await(t *testing.T, done func() (last string, ok bool)) {
	t.Helper()
	begin := time.Now()
	for last, ok := done(); !ok; last, ok = done() {
		require.Less(t, time.Since(begin), 5*time.Minute, last)
		time.Sleep(200 * time.Millisecond)
	}
}

func tryKubectl(cluster *testcluster.Cluster, args ...string) (string, bool) {
	out, err := cluster.TryKubectl(args...)
	return out, err == nil
}
