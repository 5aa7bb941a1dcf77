package main

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// lives returns a part with one sample a round of each peer, with these seconds in each phase.
func lives(size int, seconds map[string]float64, rounds int) Part {
	part := Part{Work: "objects", Size: size, Taken: Taken{Date: "2026-01-02", Commit: "0123456789", Machine: "a machine", Kubernetes: "v1.36.3"}}
	for round := range rounds {
		for _, p := range allPeers() {
			if s, ok := seconds[p.name]; ok {
				s *= 1 + float64(round)/100
				for _, phase := range []string{"first", "no-op", "delete"} {
					part.Samples = append(part.Samples, Sample{Peer: p.name, Phase: phase, Round: round, Wall: s, CPU: s / 2, Peak: 50, Requests: size})
				}
			}
		}
	}
	return part
}

func TestPartsAreReplaced(t *testing.T) {
	var r Results
	r.add(lives(1000, map[string]float64{floor: 1}, 1))
	r.add(lives(100, map[string]float64{floor: 1}, 1))
	far := lives(1000, map[string]float64{floor: 3}, 1)
	far.Delay = time.Millisecond
	r.add(far)
	r.add(lives(1000, map[string]float64{floor: 2}, 1))
	file := filepath.Join(t.TempDir(), "new", "results.json")
	require.NoError(t, r.save(file))
	r, err := load(file)
	require.NoError(t, err)
	require.Len(t, r.Parts, 3)
	for i, want := range []float64{1, 2, 3} {
		e, ok := r.Parts[i].estimate(floor, "first", wall)
		require.True(t, ok)
		require.Equal(t, want, e.Median)
	}
}

// verdicts returns the verdicts of all checks by what they are about.
func verdicts(r Results) map[string]string {
	found := map[string]string{}
	for _, c := range checks(r) {
		found[c.what] = c.verdict()
	}
	return found
}

// A ratio is lost if its whole interval is above the limit.
func TestChecks(t *testing.T) {
	var r Results
	r.add(lives(1000, map[string]float64{floor: 1, plain: 1.2, set: 1.1, "kapp": 7, "Helm": 20}, 9))
	v := verdicts(r)
	require.Equal(t, "NOT KEPT", v["first apply of 1,000 objects over the floor, ordapply"])
	require.Equal(t, "kept", v["first apply of 1,000 objects over the floor, ordapply, apply set"])
	require.Equal(t, "NOT KEPT", v["no-op of 1,000 objects over the fastest peer's (kapp), ordapply"])
	require.Equal(t, "kept", v["no-op of 1,000 objects over the fastest peer's (kapp), ordapply, apply set"])
	require.Equal(t, "NOT MEASURED", v["planning 100,000 resources"])

	for i := range r.Parts[0].Samples { // one round in which the floor was slow as well
		if s := &r.Parts[0].Samples[i]; s.Peer == floor && s.Round == 0 {
			s.Wall *= 1.2
		}
	}
	require.Equal(t, "NOT KEPT", verdicts(r)["first apply of 1,000 objects over the floor, ordapply"], "one outlier is not in the interval")
	r.add(lives(1000, map[string]float64{floor: 1, plain: 1.2}, 2))
	r.Parts[0].Samples[0].Wall = 1.1
	require.Equal(t, "kept", verdicts(r)["first apply of 1,000 objects over the floor, ordapply"], "the range contains the limit")
	require.ErrorContains(t, printChecks(io.Discard, r), "limits are not kept, or not measured")
}

func TestGrowthIsChecked(t *testing.T) {
	const what = "growth of the time of no-op from 5,000 to 50,000 objects, ordapply"
	var r Results
	r.add(lives(5000, map[string]float64{plain: 1}, 3))
	r.add(lives(50_000, map[string]float64{plain: 10}, 3))
	require.Equal(t, "kept", verdicts(r)[what])
	e, ok := r.slope("objects", plain, "no-op", 5000, 50_000, wall)
	require.True(t, ok)
	require.InDeltaSlice(t, []float64{1, 0.991, 1.009}, []float64{e.Median, e.Low, e.High}, 0.001, "rounds differ by 2 %")
	r.add(lives(50_000, map[string]float64{plain: 20}, 3))
	require.Equal(t, "NOT KEPT", verdicts(r)[what])
}

// The floor is measured before ordapply in one round and after it in the next, next to it.
func TestOrderAlternates(t *testing.T) {
	peers := names(allPeers())
	require.Equal(t, []string{floor, plain, set}, peers[:3])
	require.Equal(t, peers, names(order(allPeers(), 0)))
	slices.Reverse(peers)
	require.Equal(t, peers, names(order(allPeers(), 1)))
}

// A failed command is not repeated, nor a peer's after two minutes.
func TestSpent(t *testing.T) {
	part := lives(1000, map[string]float64{floor: 50, "kapp": 50}, 2)
	require.False(t, part.spent("kapp", "first"))
	part = lives(1000, map[string]float64{floor: 50, "kapp": 50}, 3)
	require.True(t, part.spent("kapp", "first"))
	require.False(t, part.spent("kapp", "change"))
	require.False(t, part.spent(floor, "first"))
	part.Samples = append(part.Samples, Sample{Peer: floor, Phase: "first", Failed: "over 2m0s"})
	require.True(t, part.spent(floor, "first"))
}

func names(peers []peer) []string {
	var found []string
	for _, p := range peers {
		found = append(found, p.name)
	}
	return found
}

// The page of fixed results; ORDAPPLY_GOLDEN=1 writes it anew.
func TestPage(t *testing.T) {
	var r Results
	r.add(lives(1000, map[string]float64{floor: 1, plain: 1.05, set: 1.2, "kapp": 1, "kubectl, server-side": 3}, 7))
	r.add(lives(20_000, map[string]float64{floor: 20, plain: 21, set: 24, "kapp": 90}, 3))
	failed := lives(20_000, map[string]float64{"Helm": 1}, 1)
	for _, s := range failed.Samples[:1] {
		s.Failed, s.Wall = "Secret is `too` long", 0
		r.Parts[1].Samples = append(r.Parts[1].Samples, s)
	}
	far := lives(1000, map[string]float64{plain: 2, "kapp": 9}, 3)
	far.Delay = 5 * time.Millisecond
	r.add(far)
	r.add(Part{Work: "plan", Size: 1000, Samples: []Sample{
		{Peer: plain, Phase: "plan", Wall: 0.06, CPU: 0.1, Peak: 40}, {Peer: plain, Phase: "command", Wall: 0.5, CPU: 0.6, Peak: 90},
		{Peer: "kapp", Phase: "plan", Wall: 1, CPU: 1.1, Peak: 80},
	}})
	r.add(Part{Work: "filter", Size: 1000, Samples: []Sample{{Peer: "sortorder", Phase: "filter", Wall: 0.2, CPU: 0.3, Peak: 60}}})
	r.add(Part{Work: shapes()[0], Size: 10, Samples: []Sample{{Peer: plain, Phase: "ready", Wall: 9, Critical: 6, Requests: 20}}})
	r.add(Part{Work: "programs", Samples: []Sample{{Peer: plain, Phase: "vault", Wall: 9, Critical: 6}}})
	r.add(Part{Work: "tries", Tries: []Try{{Stream: "flux", Objects: 30, Tries: 11, Good: 11, Slowest: 12, Once: "3 refused", Loop: "2 rounds"}, {Stream: "rook", Refused: true}}})
	r.describe(Described{Name: "kapp", Version: "v0.1.0", Apply: "kapp deploy", Delete: "kapp delete"})
	text, pictures := page(r)
	golden := filepath.Join("testdata", "page.golden")
	if os.Getenv("ORDAPPLY_GOLDEN") != "" {
		require.NoError(t, os.WriteFile(golden, []byte(text), 0o644))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.Equal(t, string(want), text)
	for name, picture := range pictures {
		require.Contains(t, text, "(benchmarks/"+name+")")
		for d := xml.NewDecoder(strings.NewReader(picture)); ; {
			_, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			require.NoError(t, err, name)
		}
	}
}

func TestNumbers(t *testing.T) {
	for want, x := range map[string]float64{"0": 0, "0.012": 0.0123, "1.23": 1.234, "12.3": 12.34, "123": 123.4, "1234": 1234.4} {
		require.Equal(t, want, number(x))
	}
	require.Equal(t, "1,234,567", grouped(1_234_567))
}

// The times of test/unkind are read from what its test logs.
func TestTimes(t *testing.T) {
	samples, err := times(`=== RUN   TestTime
=== RUN   TestTime/vault
    unkind_test.go:95: 14s, 3 admission reviews
    time_test.go:36: by itself 12.5s, ordapply 1m3s
=== NAME  TestTime/other
    time_test.go:36: by itself 1s, ordapply 2s
`)
	require.NoError(t, err)
	require.Equal(t, []Sample{
		{Peer: plain, Phase: "vault", Wall: 63, Critical: 12.5},
		{Peer: plain, Phase: "other", Wall: 2, Critical: 1},
	}, samples)
}
