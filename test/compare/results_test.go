package main

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/test/corpora"
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

// collected returns results with these parts.
func collected(t *testing.T, parts ...Part) Results {
	t.Helper()
	var r Results
	for _, p := range parts {
		require.NoError(t, r.add(p))
	}
	return r
}

func TestPartsAreReplaced(t *testing.T) {
	far := lives(1000, map[string]float64{floor: 3}, 1)
	far.Delay = time.Millisecond
	r := collected(t, lives(1000, map[string]float64{floor: 1}, 1), lives(100, map[string]float64{floor: 1}, 1), far, lives(1000, map[string]float64{floor: 2}, 1))
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

// Fewer rounds do not replace more, neither before they are measured nor after.
func TestFewerRoundsReplaceNothing(t *testing.T) {
	try := Part{Work: "tries", Name: "flux", Tries: []Try{{Stream: "flux", Tries: 11}}}
	r := collected(t, lives(1000, map[string]float64{floor: 1}, 3), try)
	require.EqualError(t, r.add(lives(1000, map[string]float64{floor: 2}, 2)),
		"objects, 1,000: the results have 3 rounds, measured on 2026-01-02, which 2 may not replace: set ROUNDS=3, or name another file with RESULTS")
	require.Equal(t, 3, r.Parts[0].rounds())
	for name, refused := range map[string]string{"WORK": "objects", "SIZES": "1000", "ROUNDS": "2"} {
		t.Setenv(name, refused)
	}
	_, err := chosen(r)
	require.ErrorContains(t, err, "objects, 1,000: the results have 3 rounds")
	t.Setenv("ROUNDS", "3")
	parts, err := chosen(r)
	require.NoError(t, err)
	require.Len(t, parts, 1)

	t.Setenv("WORK", "tries")
	_, err = chosen(r)
	require.ErrorContains(t, err, "tries, flux: the results have 11 rounds")
	require.ErrorContains(t, err, "set SHUFFLES=10")
	t.Setenv("TRY", "jobset")
	_, err = chosen(r)
	require.NoError(t, err, "flux is not tried")
	require.NoError(t, r.add(Part{Work: "tries", Name: "unkind/eck", Tries: []Try{{Tries: 11}}}))
	for _, name := range []string{"eck", "unkind/eck", "unkind"} {
		t.Setenv("TRY", name)
		_, err = chosen(r)
		require.ErrorContains(t, err, "tries, unkind/eck: the results have 11 rounds")
	}
}

// A stopped run goes on with the streams that it has not tried.
func TestResume(t *testing.T) {
	r := collected(t, Part{Work: "tries", Name: "flux", Tries: []Try{{Tries: 11}}}, Part{Work: "tries", Name: "jobset", Tries: []Try{{Tries: 10}}})
	for name, value := range map[string]string{"WORK": "tries", "TRY": "flux jobset unkind/gatekeeper", "SHUFFLES": "10"} {
		t.Setenv(name, value)
	}
	named := func() (names []string) {
		parts, err := chosen(r)
		require.NoError(t, err)
		for _, m := range parts {
			names = append(names, m.of.Name)
		}
		return names
	}
	require.Equal(t, []string{"flux", "jobset", "unkind/gatekeeper"}, named())
	t.Setenv("RESUME", "1")
	require.Equal(t, []string{"jobset", "unkind/gatekeeper"}, named())
	t.Setenv("TRY", "gatekeeper")
	require.Equal(t, []string{"gatekeeper", "unkind/gatekeeper"}, named())
	t.Setenv("TRY", "streams/gatekeeper")
	require.Equal(t, []string{"gatekeeper"}, named())
	t.Setenv("TRY", "fluxx")
	_, err := chosen(r)
	require.EqualError(t, err, `TRY: no stream or program is called "fluxx"`)
}

// AS chooses what other results have: the same parts, each in as many rounds and with the same programs.
func TestMeasureAsOtherResults(t *testing.T) {
	file := filepath.Join("..", "..", ownResults)
	page, err := load(file)
	require.NoError(t, err)
	t.Setenv("AS", file)
	parts, err := chosen(Results{})
	require.NoError(t, err)
	require.NotEmpty(t, parts)
	for _, p := range page.Parts {
		named := slices.IndexFunc(parts, func(m measurement) bool { return m.of.same(p) || m.of.same(Part{Work: p.Work}) })
		require.GreaterOrEqual(t, named, 0, p.title())
		require.Equal(t, p.rounds(), parts[named].rounds, p.title())
	}

	few := lives(20_000, map[string]float64{floor: 1, plain: 1, "kubectl, server-side": 3}, 4)
	require.Equal(t, choice{sizes: []int{20_000}, rounds: 4, peers: few.names()}, few.choice())
	tried := Part{Work: "tries", Name: "flux", Tries: []Try{{Tries: 11, Tools: []Tally{{Tries: 3}}}}}
	require.Equal(t, choice{tries: []string{"flux"}, rounds: 11, shuffles: 10, toolTries: 3}, tried.choice())

	t.Setenv("WORK", "far")
	parts, err = chosen(Results{})
	require.NoError(t, err)
	for _, m := range parts {
		require.Positive(t, m.of.Delay)
	}
	t.Setenv("WORK", "scale")
	parts, err = chosen(Results{})
	require.NoError(t, err)
	require.Len(t, parts, 1)
	require.Equal(t, 50_000, parts[0].of.Size)

	t.Setenv("AS", filepath.Join(t.TempDir(), "few.json"))
	require.NoError(t, collected(t, few).save(os.Getenv("AS")))
	_, err = chosen(Results{})
	require.EqualError(t, err, "WORK: the results that AS names have no part of scale")
	t.Setenv("WORK", "scales")
	_, err = chosen(Results{})
	require.ErrorContains(t, err, `WORK: no work is called "scales"; known: objects, `)
	t.Setenv("WORK", "")
	require.False(t, everything(), "or the page would lose what the other results do not have")
	t.Setenv("PEERS", "kapp")
	_, err = chosen(Results{})
	require.EqualError(t, err, "AS and PEERS: the results that AS names already choose that; only WORK chooses among their parts")
}

// Two generations of a CPU have the same name in a cloud.
func TestAMachineIsKnownByItsGenerationOfCPU(t *testing.T) {
	of := func(text string) string {
		file := filepath.Join(t.TempDir(), "cpuinfo")
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		return processor(file)
	}
	require.Equal(t, "AMD EPYC (family 25, model 17)", of("cpu family\t: 25\nmodel\t\t: 17\nmodel name\t: AMD EPYC\n"))
	require.Equal(t, "A name", of("model name\t: A name\n"), "not every architecture has them")
}

// Times are those of one machine: a part that is measured on another needs a file of its own, and
// a run of everything begins anew there. Tries are counted, not timed.
func TestResultsAreOfOneMachine(t *testing.T) {
	tries := Part{Work: "tries", Taken: Taken{Machine: "there"}, Tries: []Try{{Stream: "flux"}}}
	r := Results{Parts: []Part{{Work: "plan", Taken: Taken{Machine: "here"}}, {Work: "move", Taken: Taken{Machine: "there"}}, tries}}
	for _, name := range []string{"WORK", "PEERS", "TRY", "SIZES", "DELAYS"} {
		t.Setenv(name, "1")
		require.False(t, everything(), name)
		t.Setenv(name, "")
	}
	require.EqualError(t, r.onOneMachine("here", false), "the results are of another machine (there), and a page is of one (this is here): measure everything, or name another file with RESULTS")
	require.Len(t, r.Parts, 3, "nothing is lost")
	require.NoError(t, r.onOneMachine("here", everything()))
	require.Equal(t, []Part{{Work: "plan", Taken: Taken{Machine: "here"}}}, r.Parts)
	r.Parts = append(r.Parts, tries)
	require.NoError(t, r.onOneMachine("here", true))
	require.Len(t, r.Parts, 2, "which a run that goes on does not take for the beginning")
	require.NoError(t, r.onOneMachine("here", false))
}

// Results are kept in the repository: a line for each sample, and what was saved is read.
func TestResultsHaveALineForEachSample(t *testing.T) {
	r := collected(t, lives(10, map[string]float64{floor: 1. / 3, plain: 2}, 2), Part{Work: "tries", Name: "flux", Tries: []Try{{Stream: "flux"}}}, Part{Work: "plan"})
	r.describe(Described{Name: "kapp", Apply: "kapp deploy <x>"})
	file := filepath.Join(t.TempDir(), "results.json")
	require.NoError(t, r.save(file))
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, 12, strings.Count(string(text), `"round":`))
	for line := range strings.Lines(string(text)) {
		require.LessOrEqual(t, strings.Count(line, `"round":`), 1)
		require.Less(t, len(line), 300)
	}
	again, err := load(file)
	require.NoError(t, err)
	require.Equal(t, 0.33333, again.Parts[0].Samples[0].Wall)
	require.Equal(t, 1./3, r.Parts[0].Samples[0].Wall, "saving rounds only what is written")
	require.NoError(t, again.save(file))
	same, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(text), string(same))
	empty := filepath.Join(t.TempDir(), "empty.json")
	require.NoError(t, Results{}.save(empty))
	_, err = load(empty)
	require.NoError(t, err)
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
	r := collected(t, lives(1000, map[string]float64{floor: 1, plain: 1.2, set: 1.1, "kapp": 7, "Helm": 20}, 9))
	v := verdicts(r)
	require.Equal(t, "NOT KEPT", v["first apply of 1,000 objects over the floor, ordapply"])
	require.Equal(t, "kept", v["first apply of 1,000 objects over the floor, ordapply, apply set"])
	require.Equal(t, "NOT KEPT", v["no-op of 1,000 objects over that of the fastest peer, ordapply"])
	require.Equal(t, "kept", v["no-op of 1,000 objects over that of the fastest peer, ordapply, apply set"])
	require.Equal(t, "NOT MEASURED", v["planning 100,000 resources"])

	for i := range r.Parts[0].Samples { // one round in which the floor was slow as well
		if s := &r.Parts[0].Samples[i]; s.Peer == floor && s.Round == 0 {
			s.Wall *= 1.2
		}
	}
	require.Equal(t, "NOT KEPT", verdicts(r)["first apply of 1,000 objects over the floor, ordapply"], "one outlier is not in the interval")
	r = collected(t, lives(1000, map[string]float64{floor: 1, plain: 1.2}, 2))
	r.Parts[0].Samples[0].Wall = 1.1
	require.Equal(t, "only the interval keeps it", verdicts(r)["first apply of 1,000 objects over the floor, ordapply"], "the range contains the limit")
	require.ErrorContains(t, printChecks(io.Discard, r), "limits are not kept, or not measured")
}

func TestGrowthIsChecked(t *testing.T) {
	const what = "growth of the time of no-op from 5,000 to 50,000 objects, ordapply"
	r := collected(t, lives(5000, map[string]float64{plain: 1}, 3), lives(50_000, map[string]float64{plain: 10}, 3))
	require.Equal(t, "kept", verdicts(r)[what])
	e, ok := r.slope("objects", plain, "no-op", 5000, 50_000, wall)
	require.True(t, ok)
	require.InDeltaSlice(t, []float64{1, 0.991, 1.009}, []float64{e.Median, e.Low, e.High}, 0.001, "rounds differ by 2 %")
	require.NoError(t, r.add(lives(50_000, map[string]float64{plain: 20}, 3)))
	require.Equal(t, "NOT KEPT", verdicts(r)[what])
	later := lives(50_000, map[string]float64{plain: 10}, 3)
	later.Taken.Commit = "another"
	require.NoError(t, r.add(later))
	require.Equal(t, "NOT MEASURED", verdicts(r)[what], "a machine is not equally fast every day")
}

// The floor is measured before ordapply in one round and after it in the next, next to it.
func TestOrderAlternates(t *testing.T) {
	peers := names(allPeers())
	require.Equal(t, []string{floor, plain, set}, peers[:3])
	require.Equal(t, peers, names(order(allPeers(), 0)))
	slices.Reverse(peers)
	require.Equal(t, peers, names(order(allPeers(), 1)))
}

// A failed command is not repeated, nor a peer's that has taken enough time.
func TestSpent(t *testing.T) {
	part := lives(1000, map[string]float64{floor: 25, "kapp": 25}, 2)
	require.False(t, part.spent("kapp", "first"))
	part = lives(1000, map[string]float64{floor: 25, "kapp": 25}, 3)
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

// What is ready in time, by the longer of both critical paths.
func TestTimeOverTheLeast(t *testing.T) {
	ready := func(work, name, peer string, alone, critical, wall float64) Part {
		return Part{Work: work, Name: name, Samples: []Sample{{Peer: peer, Phase: "ready", Wall: wall, Alone: alone, Critical: critical}}}
	}
	shape := ready(shapes()[0], "", byGraph, 0, 5, 5.5)
	shape.Size = 10
	v := verdicts(collected(t, shape, ready("programs", "vault", plain, 10, 0, 12), ready("programs", "eck", plain, 10, 0, 11), ready("streams", "flux", plain, 5, 10, 11), ready("streams", "jobset", plain, 10, 5, 12), ready("streams", "metallb", plain, 10, 13, 12)))
	for what, want := range map[string]string{
		"Deployments, chain: time over the critical path, ordapply, --schedule=graph":    "kept",
		"Deployments, diamonds: time over the critical path, ordapply, --schedule=graph": "NOT MEASURED",
		"programs, vault: time until all is ready over the least":                        "NOT KEPT",
		"programs, eck: time until all is ready over the least":                          "kept",
		"streams, flux: time until all is ready over the least":                          "kept",
		"streams, jobset: time until all is ready over the least":                        "NOT KEPT",
		"streams, metallb: time until all is ready over the least":                       "NOT KEPT", // the chain is longer than the run
	} {
		require.Equal(t, want, v[what], what)
	}
	require.Equal(t, "NOT MEASURED", verdicts(Results{})["streams, world/ingress-nginx-chart: time until all is ready over the least"])
}

// A run on another day repeats the figures if the intervals overlap.
func TestRepeat(t *testing.T) {
	run := func(floorSeconds, ours float64, rounds int) Results {
		return collected(t, lives(1000, map[string]float64{floor: floorSeconds, plain: ours}, rounds), Part{Work: "plan", Size: 7})
	}
	var out strings.Builder
	require.NoError(t, printRepeat(&out, run(1, 1.05, 3), run(2, 2.1, 4)))
	require.Regexp(t, `(?m)^overlap +first apply of 1,000 objects over the floor, ordapply +1\.05 \(1\.05–1\.05\) +3 +1\.05 \(1\.05–1\.05\) +4$`, out.String())
	require.Regexp(t, `(?m)^overlap +objects, 1,000, no-op, time: ordapply over floor +1\.05 .* 3 `, out.String())
	for _, now := range []float64{0.9, 1.2} {
		require.EqualError(t, printRepeat(io.Discard, run(1, 1.05, 6), run(1, now, 7)), "1 of 1 figures of limits, of six rounds and more, differ from those of the other run by more than their intervals and 2 %")
		out.Reset()
		require.NoError(t, printRepeat(&out, run(1, 1.05, 6), run(1, now, 5)), "ranges of few rounds lie apart by chance")
		require.Regexp(t, `(?m)^(LOWER|HIGHER) +first apply of 1,000 objects`, out.String())
	}
	for _, now := range []float64{1.035, 1.065} {
		out.Reset()
		require.NoError(t, printRepeat(&out, run(1, 1.05, 3), run(1, now, 3)))
		require.Regexp(t, `(?m)^within 2 % +first apply of 1,000 objects`, out.String())
	}
	out.Reset()
	require.NoError(t, printRepeat(&out, run(1, 1.05, 3), run(1, 1.2, 1)))
	require.Contains(t, out.String(), "one round", "a single value has no interval")
	require.ErrorContains(t, printRepeat(io.Discard, run(1, 1, 1), Results{}), "no figure of a limit in common")
}

// Seconds are not repeated on another machine, and ratios are.
func TestRepeatOnAnotherMachine(t *testing.T) {
	planned := func(machine string, seconds float64) Results {
		part := Part{Work: "plan", Size: 100_000}
		for round := range 6 {
			part.Samples = append(part.Samples, Sample{Peer: plain, Phase: "plan", Round: round, Wall: seconds})
		}
		r := collected(t, part, lives(1000, map[string]float64{floor: seconds, plain: seconds}, 6))
		for i := range r.Parts {
			r.Parts[i].Taken.Machine = machine
		}
		return r
	}
	require.NoError(t, printRepeat(io.Discard, planned("one", 1), planned("another", 2)))
	require.ErrorContains(t, printRepeat(io.Discard, planned("one", 1), planned("one", 2)), "1 of 2 figures of limits")
}

// Results that are no JSON are named: two files may be read.
func TestBrokenResults(t *testing.T) {
	folder := t.TempDir()
	file := filepath.Join(folder, "benchmarks", "repeated.json")
	require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
	require.NoError(t, os.WriteFile(file, []byte("{"), 0o644))
	require.EqualError(t, writePage(Results{}, folder), file+": unexpected end of JSON input")
}

// A name that is wrong is answered with those that are right.
func TestWrongChoices(t *testing.T) {
	t.Setenv("RESULTS", filepath.Join("..", "..", ownResults))
	require.EqualError(t, command([]string{"repeat", ""}), "name the results of the other run: make compare-repeat OTHER=FILE")
	t.Setenv("PEERS", "kap")
	_, err := environment()
	require.ErrorContains(t, err, `PEERS: no peer is called "kap"; known: floor; ordapply; ordapply, apply set; `)
}

func TestPageOfOtherResults(t *testing.T) {
	for results, want := range map[string]string{"": "docs", "./docs/benchmarks/results.json": "docs", "/tmp/mine/results.json": "/tmp/mine"} {
		t.Setenv("RESULTS", results)
		require.Equal(t, want, pageFolder())
	}
}

// The page of fixed results; ORDAPPLY_GOLDEN=1 writes it anew.
func TestPage(t *testing.T) {
	r := collected(t,
		lives(1000, map[string]float64{floor: 1, plain: 1.05, set: 1.2, "kapp": 1, "kubectl, server-side": 3}, 7),
		lives(20_000, map[string]float64{floor: 20, plain: 21, set: 24, "kapp": 90}, 3),
	)
	failed := lives(20_000, map[string]float64{"Helm": 1}, 1)
	for _, s := range failed.Samples[:1] {
		s.Failed, s.Wall = "Secret is `too` long", 0
		r.Parts[1].Samples = append(r.Parts[1].Samples, s)
	}
	far := lives(1000, map[string]float64{plain: 2, "kapp": 9}, 3)
	far.Delay = 5 * time.Millisecond
	for _, p := range []Part{
		far,
		{Work: "plan", Size: 1000, Samples: []Sample{
			{Peer: plain, Phase: "plan", Wall: 0.06, CPU: 0.1, Peak: 40}, {Peer: plain, Phase: "command", Wall: 0.5, CPU: 0.6, Peak: 90},
			{Peer: "kapp", Phase: "plan", Wall: 1, CPU: 1.1, Peak: 80},
		}},
		{Work: "filter", Size: 1000, Samples: []Sample{{Peer: "sortorder", Phase: "filter", Wall: 0.2, CPU: 0.3, Peak: 60}}},
		{Work: shapes()[0], Size: 10, Samples: []Sample{{Peer: plain, Phase: "ready", Wall: 9, Critical: 6, Requests: 20}}},
		{Work: "programs", Name: "vault", Samples: []Sample{{Peer: plain, Phase: "ready", Wall: 9, Alone: 6}, {Peer: plain, Phase: "ready", Round: 1, Wall: 8, Alone: 6}}},
		{Work: "programs", Name: "eck", Samples: []Sample{{Peer: plain, Phase: "ready", Wall: 6, Alone: 6}}},
		{Work: "streams", Name: "flux", Objects: 46, Samples: []Sample{
			{Peer: plain, Phase: "ready", Wall: 20, Alone: 6, Critical: 4, Grace: 10}, {Peer: plain, Phase: "ready", Round: 1, Wall: 21, Alone: 5, Critical: 7, Grace: 11},
		}},
		{Work: "streams", Name: "jobset", Objects: 39, Samples: []Sample{{Peer: plain, Phase: "ready", Failed: "not ready"}}},
		{Work: "tries", Name: "flux", Tries: []Try{{Stream: "flux", Objects: 30, Tries: 11, Good: 11, Once: "3 refused", Loop: "2 rounds", Tools: []Tally{{Name: "kubectl", Tries: 11}, {Name: "helm", Tries: 3, Good: 2, Failed: "not finished after 3m0s"}}}}},
		{Work: "tries", Name: "rook", Tries: []Try{{Stream: "rook", Tries: 11, Refused: true}}},
	} {
		require.NoError(t, r.add(p))
	}
	engine := Part{Work: "engines", Name: "examples/shop", Samples: []Sample{{Peer: plain, Phase: "ready", Wall: 9}, {Peer: "Flux", Phase: "ready", Wall: 30}, {Peer: "Argo CD", Phase: "ready", Failed: "no"}}}
	require.NoError(t, r.add(engine))
	r.describe(Described{Name: "kapp", Version: "v0.1.0", Apply: "kapp deploy", Delete: "kapp delete"})
	r.describe(Described{Name: "Flux", Version: "v1.7.3", Apply: "kustomize-controller"})
	again := lives(1000, map[string]float64{floor: 1, plain: 1.3, set: 1.2, "kapp": 1, "kubectl, server-side": 3}, 7)
	again.Taken.Date = "2026-01-03"
	text, pictures := page(r, collected(t, again))
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

// The page in the repository is the one of the results in the repository.
func TestPageIsOfTheResults(t *testing.T) {
	docs := filepath.Join("..", "..", "docs")
	r, err := load(filepath.Join(docs, "benchmarks", "results.json"))
	require.NoError(t, err)
	if len(r.Parts) == 0 {
		t.Skip("docs/benchmarks/results.json is missing: make compare writes it")
	}
	require.NoError(t, r.onOneMachine(r.of("objects")[0].Taken.Machine, false), "the page says so of all times")
	again, err := load(filepath.Join(docs, "benchmarks", "repeated.json"))
	require.NoError(t, err)
	text, pictures := page(r, again)
	pictures[filepath.Join("..", "benchmarks.md")] = text
	for name, want := range pictures {
		got, err := os.ReadFile(filepath.Join(docs, "benchmarks", name))
		require.NoError(t, err)
		require.Equal(t, want, string(got), "%s: go run ./test/compare page", name)
	}
}

// The first attempts in the README are those of the results.
func TestReadmeHasTheFirstTries(t *testing.T) {
	r, err := load(filepath.Join("..", "..", ownResults))
	require.NoError(t, err)
	var tries []Try
	for _, p := range r.of("tries") {
		tries = append(tries, p.Tries...)
	}
	good := map[string]int{}
	all := slices.DeleteFunc(tries, func(t Try) bool { return t.Refused })
	for _, t := range all {
		for _, name := range []string{plain, "kapp", "helm", "kubectl"} {
			if tally := t.tally(name); tally.Tries > 1 && tally.Good == tally.Tries {
				good[name]++
			}
		}
	}
	require.Equal(t, len(all), good[plain])
	readme, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	require.NoError(t, err)
	words := strings.Join(strings.Fields(string(readme)), " ")
	require.Contains(t, words, fmt.Sprintf("all of [%d streams and models](docs/benchmarks.md#the-first-try) at the first attempt, also shuffled (kapp %d, Helm %d, kubectl %d)", len(all), good["kapp"], good["helm"], good["kubectl"]))
}

func TestNumbers(t *testing.T) {
	for want, x := range map[string]float64{"0": 0, "0.012": 0.0123, "1.23": 1.234, "12.3": 12.34, "123": 123.4, "1234": 1234.4} {
		require.Equal(t, want, number(x))
	}
	require.Equal(t, "1,234,567", grouped(1_234_567))
}

// The times of test/engines are read from what its test logs, failures from how it ended.
func TestEngineTimes(t *testing.T) {
	parts, err := engineTimes(`=== RUN   TestWallTime
=== RUN   TestWallTime/examples/shop
=== RUN   TestWallTime/examples/shop/ordapply
    streams_test.go:74: ordapply: 30 gates, none passed early; 12.3s from the first write to the last resource that became ready
=== RUN   TestWallTime/examples/shop/Flux
    flux.go:9: ready
    streams_test.go:74: kustomize-controller/: 30 gates, none passed early; 1m3s from the first write to the last resource that became ready
=== RUN   TestWallTime/examples/shop/Argo_CD
    argocd.go:9: not synced
--- FAIL: TestWallTime (9s)
    --- FAIL: TestWallTime/examples/shop (9s)
        --- PASS: TestWallTime/examples/shop/ordapply (9s)
        --- FAIL: TestWallTime/examples/shop/Argo_CD (9s)
=== RUN   TestOther/jobset/Flux
    streams_test.go:74: kustomize-controller/: 30 gates, none passed early; 1m3s from the first write to the last resource that became ready
=== RUN   TestWallTime/jobset/ordapply
    streams_test.go:74: ordapply: 30 gates, none passed early; 10s from the first write to the last resource that became ready
=== RUN   TestWallTime/examples/shop/ordapply
    streams_test.go:74: ordapply: 30 gates, none passed early; 12s from the first write to the last resource that became ready
`)
	require.NoError(t, err)
	require.Equal(t, []Part{
		{Work: "engines", Name: "examples/shop", Samples: []Sample{
			{Peer: plain, Phase: "ready", Wall: 12.3},
			{Peer: "Flux", Phase: "ready", Wall: 63},
			{Peer: "Argo CD", Phase: "ready", Failed: "the test of test/engines failed"},
			{Peer: plain, Phase: "ready", Wall: 12, Round: 1},
		}},
		{Work: "engines", Name: "jobset", Samples: []Sample{{Peer: plain, Phase: "ready", Wall: 10}}},
	}, parts)
	for _, e := range engines() {
		e.goMod = filepath.Join("..", "..", e.goMod)
		d, err := e.describe(true)
		require.NoError(t, err)
		require.Regexp(t, `^v\d`, d.Version)
	}
}

// Where Flux and Argo CD are not built, the page says so.
func TestEnginesThatAreNotBuilt(t *testing.T) {
	r := collected(t, Part{Work: "plan", Size: 1})
	text, _ := page(r, Results{})
	require.NotContains(t, text, "## Flux")
	d, err := engine{"Flux", "github.com/fluxcd/kustomize-controller", filepath.Join("..", "engines", "flux", "go.mod"), "x"}.describe(false)
	require.NoError(t, err)
	r.describe(d)
	text, _ = page(r, Results{})
	require.Contains(t, text, "Not built here: left out. `make engines` builds them.")
	require.Contains(t, text, "| Flux | not built here: left out | x | – |")
	r.describe(Described{Name: "Flux", Version: "v9"})
	r.describe(d)
	require.Equal(t, "v9", r.Peers[0].Version, "it was measured elsewhere")
}

// Programs and streams are measured apart, by the names of test/firsttry; a name may stand for both.
func TestInstallsNamed(t *testing.T) {
	for names, want := range map[string][2][]string{
		"eck":                       {{"unkind/eck"}, nil},
		"unkind/vault flux":         {{"unkind/vault"}, {"streams/flux"}},
		"gatekeeper":                {{"unkind/gatekeeper"}, {"streams/gatekeeper"}},
		"streams/gatekeeper":        {nil, {"streams/gatekeeper"}},
		"world/ingress-nginx-chart": {nil, {"streams/world/ingress-nginx-chart"}},
	} {
		require.Equal(t, want[0], installsNamed("programs", strings.Fields(names)), names)
		require.Equal(t, want[1], installsNamed("streams", strings.Fields(names)), names)
	}
	require.Greater(t, len(installsNamed("programs", nil)), 10)
	require.Len(t, installsNamed("streams", nil), len(corpora.Applied()))
}
