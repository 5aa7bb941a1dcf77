package main

import (
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/internal/recorder"
	"github.com/ordapply/ordapply/internal/testcluster"
)

// Two runs on one set come one after the other: no write of one falls between
// two of the other, and the set is in the end what the last of them wanted.
func TestRacingRuns(t *testing.T) {
	bin, err := testcluster.Find("ordapply")
	if err != nil {
		testcluster.Skip(t, "the ordapply command (run `make build`)")
	}
	lab := newChaosLab(t, bin)
	trial := lab.newTrial(t, chaosAct{name: "race"}, 12, "two")
	streams := []string{"old", "new"}
	proxies := make([]*recorder.Proxy, len(streams))
	var runs sync.WaitGroup
	for i, stream := range streams {
		proxies[i] = recorder.Start(t, lab.cluster.Kubeconfig)
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
}

func expectDone(t *testing.T, cmd *exec.Cmd) {
	said, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%s: %v", said, err)
	}
}

// writes is when the first and the last write to anything but the Lease arrived.
// That to the Namespace may come before the lock, which lives in it.
func writes(t *testing.T, proxy *recorder.Proxy) (from, to time.Time) {
	for _, r := range proxy.Requests() {
		read := r.Verb == "get" || r.Verb == "list" || r.Verb == "watch" || r.Verb == "discovery" || r.Verb == "review"
		if read || r.Resource == "leases" || r.Resource == "namespaces" || strings.Contains(r.URL.RawQuery, "dryRun") {
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
