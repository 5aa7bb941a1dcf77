package run

import (
	"bytes"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/apply/track"
	"github.com/ordapply/ordapply/internal/cli/files"
	"github.com/ordapply/ordapply/internal/fleet"
	"github.com/ordapply/ordapply/internal/view/events"
	"github.com/ordapply/ordapply/operation"
	"github.com/ordapply/ordapply/ordering"
)

// However a run writes its lines, each arrives once and whole.
func TestLineWriter(t *testing.T) {
	text := "one\n\ntwo and three\nthe last without an end"
	for seed := range uint64(50) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		var got []string
		w := &lineWriter{each: func(line []byte) { got = append(got, string(line)) }}
		for rest := text; rest != ""; {
			n := 1 + rnd.IntN(len(rest))
			wrote, err := w.Write([]byte(rest[:n]))
			require.NoError(t, err)
			require.Equal(t, n, wrote)
			rest = rest[n:]
		}
		w.Close()
		require.Equal(t, strings.Split(text, "\n"), got)
	}
}

// The goroutines of a run do not mix their lines.
func TestLineWriterOfSeveral(t *testing.T) {
	counts := map[string]int{}
	w := &lineWriter{each: func(line []byte) { counts[string(line)]++ }}
	var wait sync.WaitGroup
	for _, line := range []string{"one", "two"} {
		wait.Go(func() {
			for range 1000 {
				_, _ = w.Write([]byte(line + "\n"))
			}
		})
	}
	wait.Wait()
	w.Close()
	require.Equal(t, map[string]int{"one": 1000, "two": 1000}, counts)
}

// An error of several clusters is one with their names.
func TestErrorsWithNames(t *testing.T) {
	clusters := []fleet.Cluster{{Name: "a"}, {Name: "b"}, {Name: "c"}, {Name: "d"}, {Name: "e"}, {Name: "f"}}
	x, y, z := errors.New("x"), errors.New("y"), errors.New("z")
	all := errors.New("all of them")
	errs := name(clusters, []error{errors.Join(x, all), errors.Join(y, all), errors.Join(x, all), errors.Join(x, all), errors.Join(x, all), errors.Join(x, z, all)})
	require.EqualError(t, errors.Join(errs...), "a, c, d and 2 more: x\nall clusters: all of them\nb: y\nf: z")
	require.ErrorIs(t, errs[0], x)
	require.Empty(t, name(clusters, make([]error, len(clusters))))
}

// A hook, a rollback, and a resource that something was sent for are changes.
func TestTally(t *testing.T) {
	count := func(changes ...track.Transition) tally {
		var all tally
		for _, change := range changes {
			all.take(change)
		}
		return all
	}
	at := func(kind track.Kind, e event.Event) track.Transition { return track.Transition{Kind: kind, Event: e} }
	unchanged := []track.Transition{
		at(track.WaveOpened, event.Event{State: event.Applying}),
		at(track.Applied, event.Event{State: event.Waiting}),
		at(track.Ended, event.Event{State: event.Ready, Change: event.Change{Unchanged: true}}),
		at(track.WaveEnded, event.Event{State: event.Ready}),
		at(track.HooksBegan, event.Event{Hook: &event.Hook{}}),
	}
	require.False(t, count(unchanged...).wrote)
	for _, change := range []track.Transition{
		at(track.Ended, event.Event{State: event.Ready}),
		at(track.Sent, event.Event{Hook: &event.Hook{}, State: event.Applying}),
		at(track.HookLogged, event.Event{Hook: &event.Hook{}}),
	} {
		require.True(t, count(append(unchanged, change)...).wrote, "%+v", change)
	}
	require.Equal(t, "18 ready, 2 failed, 1 timed out", (&tally{counts: event.Counts{event.Ready: 18, event.TimedOut: 1, event.Failed: 2}}).words())
	require.Equal(t, "1 failed; rolled back", (&tally{counts: event.Counts{event.Failed: 1}, rolledBack: true}).words())
}

// Runs print lines with their cluster, and remarks that several have in common once.
func TestAFollowerReportsItsCluster(t *testing.T) {
	var out, err bytes.Buffer
	show := &fleetConsole{json: true, runs: map[string]*tally{}, printed: map[string]bool{}}
	show.out.Out, show.out.Err = files.Pair(&out, &err)
	plan := &ordering.Plan{Notes: []string{"a note"}}
	for _, cluster := range []string{`eu"1`, "eu-2"} {
		f := show.follow(cluster, events.RunStart{Server: "https://" + cluster})
		f.Begin(track.New(plan, time.Now()))
		f.End(events.Outcome{State: "done", Warnings: []string{"deprecated"}})
	}
	require.NoError(t, show.out.Out.Close(t.Context()))
	require.NoError(t, show.out.Err.Close(t.Context()))
	require.Equal(t, "eu\"1: note: a note\neu\"1: warning from the server: deprecated\n", err.String())
	var clusters []string
	for line := range strings.Lines(out.String()) {
		var head events.Head
		require.NoError(t, json.Unmarshal([]byte(line), &head))
		require.Regexp(t, `^{"version":1,"type":"\w+","timestamp":"[^"]+","cluster":"eu`, line)
		clusters = append(clusters, head.Cluster)
	}
	require.Equal(t, []string{`eu"1`, `eu"1`, `eu"1`, `eu"1`, `eu"1`, "eu-2", "eu-2", "eu-2", "eu-2", "eu-2"}, clusters)
}

// Each cluster has its own selection and files, and the operation is not changed.
func TestAnOperationIsCopiedForEachCluster(t *testing.T) {
	op := operation.NewApply()
	*op.Cluster.Namespace, *op.Cluster.KubeConfig, *op.Cluster.BearerToken = "shop", "config", "token"
	op.Report, op.MetricsFile, op.MetricsLabels = "run.html", "run.prom", map[string]string{"team": "web"}
	before := *op.Cluster.Context
	a := runOn(fleet.Cluster{Name: "a", Context: "at/a", Namespace: "other"}, op)
	b := runOn(fleet.Cluster{Name: "b", Context: "b", Kubeconfig: "b.config"}, op)
	require.Equal(t, []string{"at/a", "other", "config", "token"}, []string{*a.Cluster.Context, *a.Cluster.Namespace, *a.Cluster.KubeConfig, *a.Cluster.BearerToken})
	require.Equal(t, []string{"b", "shop", "b.config"}, []string{*b.Cluster.Context, *b.Cluster.Namespace, *b.Cluster.KubeConfig})
	require.Equal(t, []string{"run.a.html", "run.b.prom"}, []string{a.Report, b.MetricsFile})
	require.Equal(t, map[string]string{"team": "web", "cluster": "a"}, a.MetricsLabels)
	require.Equal(t, map[string]string{"team": "web"}, op.MetricsLabels)
	require.Equal(t, before, *op.Cluster.Context)
	alone := runOn(fleet.Cluster{Name: "a"}, operation.NewApply())
	require.Empty(t, alone.Report+alone.MetricsFile)
}
