package main

import (
	"cmp"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/ordapply/ordapply/test/measure"
)

// writePage writes benchmarks.md and its pictures into a folder, which may have the results of
// another day in benchmarks/repeated.json.
func writePage(r Results, folder string) error {
	again, err := load(filepath.Join(folder, "benchmarks", "repeated.json"))
	if err != nil {
		return err
	}
	text, pictures := page(r, again)
	if err := os.MkdirAll(filepath.Join(folder, "benchmarks"), 0o755); err != nil {
		return err
	}
	for name, picture := range pictures {
		if err := os.WriteFile(filepath.Join(folder, "benchmarks", name), []byte(picture), 0o644); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(folder, "benchmarks.md"), []byte(text), 0o644)
}

const intro = `# Benchmarks

` + "`make compare`" + ` measured everything on this page, and wrote it; see [Repeat it](#repeat-it). All
times are of one machine, but for those that are called repeated. A figure is the median, with the interval
that contains it with 95 % confidence; with fewer than six rounds it is the range, which has less: 75 % with
three, 50 % with two. A ratio is the median of the ratios of each round. A command is killed after four
minutes: "over 4m0s". After one that failed, and after another program's has taken a minute in all rounds
together, it is not repeated, nor what comes after it.

- first: apply to an empty namespace; no-op: apply the same again; change: apply again, after one object
  was changed; delete: all of it, until it is gone.
- ordapply, apply set: with ` + "`--applyset --prune`" + `, which keeps an inventory, as kapp, kapply and Helm do.
- kapply: the command of cli-utils, the library of ` + "`kpt live`" + `.
- floor: [a loop](../test/bench/bare/main.go) that sends a request an object, 32 at a time, without an order,
  checks or waiting. Annotated: it adds an annotation to each object, as ordapply does to know it again.
- time: from the start to the end of the process. CPU and memory: of the client. Requests: those in the
  audit log of the API server.

The control plane runs on the same machine, with an audit log that each request waits for. With ConfigMaps
and Deployments the programs take turns on one control plane, one process at a time, every second round in
reverse; before each command the API server collects its garbage, so that none pays for those before it. With
ConfigMaps each program has used the control plane before, so that its caches are filled, and no controllers run.

`

// page renders the results, beside those of another day if there are any: the page, and its
// pictures by name.
func page(r, again Results) (text string, pictures map[string]string) {
	var b strings.Builder
	b.WriteString(intro)
	pictures = map[string]string{}
	limits := func(b *strings.Builder, r Results, _ map[string]string) { writeLimits(b, r, again) }
	repeated := func(b *strings.Builder, r Results, _ map[string]string) { writeRepeated(b, r, again) }
	sections := []func(*strings.Builder, Results, map[string]string){
		writeMachines, writeBetter, writeObjects, writeFar, writeSlopes, writeGraphs, writePlan, writeFunction, writePrograms, writeStreams, writeEngines, writeTries, limits, repeated, writeFailures, writePeers, writeTaken,
	}
	for _, section := range sections {
		section(&b, r, pictures)
	}
	return strings.TrimRight(b.String(), "\n") + "\n", pictures
}

// writeMachines says where the times were measured.
func writeMachines(b *strings.Builder, r Results, _ map[string]string) {
	var machines []string
	for _, p := range r.Parts {
		if text := p.Taken.Machine + ", Kubernetes " + p.Taken.Kubernetes; p.Tries == nil && !slices.Contains(machines, text) {
			machines = append(machines, text)
		}
	}
	if len(machines) > 0 {
		fmt.Fprintf(b, "Times are of: %s.\n\n", strings.Join(machines, "; "))
	}
}

// writeTaken says how to measure again, and lists what was measured when and where, in how many rounds.
func writeTaken(b *strings.Builder, r Results, _ map[string]string) {
	b.WriteString("## Repeat it\n\n" +
		"1. `make corpora` renders the real streams where there is internet; `export ORDAPPLY_CORPORA=$PWD/corpora`. Without them these sections stay empty.\n" +
		"2. `make engines` and `make redis` build what Flux and Argo CD require. Without them their section stays empty.\n" +
		"3. `make compare` builds the other programs, measures everything, and writes this page and [its results](benchmarks/results.json): many hours. " +
		"`WORK=objects SIZES=1000 ROUNDS=6 PEERS='floor;ordapply;kapp' RESULTS=/tmp/mine/results.json` measures one part in minutes, and writes a page of its own beside these results.\n" +
		"4. `make compare-check` compares the results with all limits: one that was not measured is not kept.\n" +
		"5. `make compare AS=docs/benchmarks/results.json RESULTS=/tmp/again/results.json` measures what this page has, with the same programs and rounds; with `WORK=objects,graphs` only these. " +
		"`make compare-repeat RESULTS=/tmp/again/results.json OTHER=docs/benchmarks/results.json` compares both runs: it fails if intervals of six rounds and more lie apart by more than 2 %. Seconds are compared only on the same machine. A copy of those results as docs/benchmarks/repeated.json is compared on the page: `go run ./test/compare page`.\n\n" +
		"These results, whose programs `PEERS` and whose rounds `ROUNDS` and `SHUFFLES` chose:\n\n")
	var rows [][]string
	for _, p := range r.Parts {
		row := []string{r.inRounds(p), p.Taken.Date, p.Taken.Commit, p.Taken.Machine}
		if !slices.ContainsFunc(rows, func(other []string) bool { return slices.Equal(row, other) }) {
			rows = append(rows, row)
		}
	}
	table(b, []string{"", "on", "ordapply at commit", "machine"}, rows)
}

// inRounds names a part with its number of rounds. It names only the work if all its streams
// or programs were measured at once.
func (r Results) inRounds(p Part) string {
	title := p.title()
	if p.Name != "" && !slices.ContainsFunc(r.of(p.Work), func(other Part) bool { return other.Taken != p.Taken || other.rounds() != p.rounds() }) {
		title = p.Work
	}
	what := "rounds"
	if p.Tries != nil {
		what = "orders"
	}
	if p.rounds() == 1 {
		what = strings.TrimSuffix(what, "s")
	}
	return fmt.Sprintf("%s (%d %s)", title, p.rounds(), what)
}

// title names a part.
func (p Part) title() string {
	text := p.Work
	if p.Name != "" {
		text += ", " + p.Name
	}
	if p.Size > 0 {
		text += ", " + grouped(p.Size)
	}
	if p.Delay > 0 {
		text += ", " + p.Delay.String() + " added"
	}
	return text
}

// named is a metric with its name.
type named struct {
	name string
	of   metric
}

func metrics() []named {
	return []named{{"time", wall}, {"CPU", cpu}, {"memory", peak}, {"requests", requests}}
}

// notable is the least ratio that counts as a difference: a hundredth more is no reason to choose a
// program, and none to call a run another result.
const notable = 1.02

// writeBetter lists the figures in which a peer is better than ordapply for the same work, by more
// than the interval.
func writeBetter(b *strings.Builder, r Results, _ map[string]string) {
	var rows [][]string
	for _, m := range metrics() {
		rows = append(rows, r.better(m)...)
	}
	b.WriteString("## Where another program is better\n\n")
	if len(rows) == 0 {
		b.WriteString("In no figure on this page, by more than the interval and 2 %.\n\n")
		return
	}
	b.WriteString("For the same work, by more than the interval and 2 %. The ratio is ordapply's figure over the other program's; of several works, from the least to the greatest.\n\n")
	table(b, []string{"figure", "run", "the better program", "compared with", "ratio", "work"}, rows)
}

// better returns a row for each run and program that has a better figure than ordapply.
func (r Results) better(m named) [][]string {
	type key struct{ phase, other, against string }
	found := map[key][]measure.Estimate{}
	works := map[key][]string{}
	var order []key
	for _, part := range r.Parts {
		for _, other := range part.names() {
			if isFloor(other) || strings.HasPrefix(other, plain) {
				continue
			}
			for _, phase := range part.phases() {
				k := key{phase, other, part.against(other)}
				ratio, ok := part.ratio(k.against, other, phase, m.of)
				if !ok || ratio.Low <= notable {
					continue
				}
				if found[k] == nil {
					order = append(order, k)
				}
				found[k], works[k] = append(found[k], ratio), append(works[k], part.title())
			}
		}
	}
	var rows [][]string
	for _, k := range order {
		rows = append(rows, []string{m.name, k.phase, k.other, k.against, among(found[k]), strings.Join(works[k], "; ")})
	}
	return rows
}

// among prints an interval, or the least and the greatest of several medians.
func among(all []measure.Estimate) string {
	if len(all) == 1 {
		return interval(all[0])
	}
	byMedian := func(a, b measure.Estimate) int { return cmp.Compare(a.Median, b.Median) }
	least, greatest := number(slices.MinFunc(all, byMedian).Median), number(slices.MaxFunc(all, byMedian).Median)
	if least == greatest {
		return least
	}
	return least + " to " + greatest
}

// against returns the way of ordapply that does the same work as a peer: with an apply set if
// the peer has an inventory, where there is one.
func (p Part) against(other string) string {
	for _, known := range choosePeers(other) {
		if len(p.of(known.against, p.phases()[0])) > 0 {
			return known.against
		}
	}
	return plain
}

// phases returns the phases of a part in order of appearance.
func (p Part) phases() []string {
	var found []string
	for _, s := range p.Samples {
		if !slices.Contains(found, s.Phase) {
			found = append(found, s.Phase)
		}
	}
	return found
}

// names returns the peers of a part in order of appearance.
func (p Part) names() []string {
	var found []string
	for _, s := range p.Samples {
		if !slices.Contains(found, s.Peer) {
			found = append(found, s.Peer)
		}
	}
	return found
}

// writeLimits prints the table of `make compare-check`.
func writeLimits(b *strings.Builder, r, again Results) {
	b.WriteString("## Limits\n\n`make compare-check` fails if a limit is not kept: the whole interval is above it; it does not read what was repeated. \"Only the interval keeps it\": the median is above it. " +
		"The interval of a growth lies between the opposite ends of those of both sizes.\n\n")
	head := []string{"", "figure", "limit", ""}
	other := map[string]check{}
	if len(again.Parts) > 0 {
		head = append(head, "[repeated](#repeated)", "")
		for _, c := range checks(again) {
			other[c.what] = c
		}
	}
	var rows [][]string
	for _, c := range checks(r) {
		row := []string{c.what, c.figure, c.limit, c.verdict()}
		switch o := other[c.what]; {
		case len(other) == 0:
		case o.measured:
			row = append(row, o.figure, o.verdict())
		default:
			row = append(row, "–", "")
		}
		rows = append(rows, row)
	}
	table(b, head, rows)
}

// writeFailures lists the errors of peers.
func writeFailures(b *strings.Builder, r Results, _ map[string]string) {
	var lines []string
	for _, p := range r.Parts {
		for _, s := range p.Samples {
			line := fmt.Sprintf("- %s, %s, %s: `%s`\n", p.title(), s.Peer, s.Phase, strings.ReplaceAll(s.Failed, "`", "'"))
			if s.Failed != "" && !strings.HasPrefix(s.Failed, "over ") && !slices.Contains(lines, line) {
				lines = append(lines, line)
			}
		}
	}
	if len(lines) > 0 {
		fmt.Fprintf(b, "## Failures\n\nWith the last line of the output:\n\n%s\n", strings.Join(lines, ""))
	}
}

// writePeers lists the programs with their versions and command lines.
func writePeers(b *strings.Builder, r Results, _ map[string]string) {
	var rows [][]string
	for _, p := range r.Peers {
		version := p.Version
		if version == "" {
			version = "this repository"
		}
		if p.Delete == "" { // a controller
			rows = append(rows, []string{p.Name, version, p.Apply, "–"})
			continue
		}
		rows = append(rows, []string{p.Name, version, "`" + p.Apply + "`", "`" + p.Delete + "`"})
	}
	rows = append(rows, []string{"nelm", "not compared", "the Go module proxy does not serve its module, github.com/werf/nelm", "–"})
	b.WriteString("## Programs\n\nVersions are those that the Go linker wrote into the programs, which `make compare` builds from their modules. " +
		"The documentation of `kubectl apply` and kapply has no settings for speed.\n\n")
	table(b, []string{"", "version", "apply", "delete"}, rows)
}

// rows returns a row for each peer with a cell for each phase.
func (p Part) rows(cell func(name, phase string) string) [][]string {
	var rows [][]string
	for _, name := range p.names() {
		row := []string{name}
		for _, phase := range p.phases() {
			row = append(row, cell(name, phase))
		}
		rows = append(rows, row)
	}
	return rows
}

// cell prints a figure with its interval.
func (p Part) cell(name, phase string, of metric, per float64) string {
	e, ok := p.estimate(name, phase, of)
	if !ok {
		return p.missing(name, phase)
	}
	return interval(divided(e, per))
}

func (p Part) median(name, phase string, of metric, per float64) string {
	e, ok := p.estimate(name, phase, of)
	if !ok {
		return p.missing(name, phase)
	}
	return number(e.Median / per)
}

// missing says why there is no figure.
func (p Part) missing(name, phase string) string {
	for _, s := range p.Samples {
		switch {
		case s.Peer != name || s.Phase != phase || s.Failed == "":
		case strings.HasPrefix(s.Failed, "over "):
			return s.Failed
		default:
			return "failed"
		}
	}
	return "–"
}

// table writes a Markdown table.
func table(b *strings.Builder, head []string, rows [][]string) {
	line := func(cells []string) { fmt.Fprintf(b, "| %s |\n", strings.Join(cells, " | ")) }
	line(head)
	line(slices.Repeat([]string{"---"}, len(head)))
	for _, row := range rows {
		line(row)
	}
	b.WriteString("\n")
}

// interval prints a median and its interval.
func interval(e measure.Estimate) string {
	if e.N == 1 {
		return number(e.Median)
	}
	return fmt.Sprintf("%s (%s–%s)", number(e.Median), number(e.Low), number(e.High))
}

// number prints three significant digits.
func number(x float64) string {
	if x == 0 {
		return "0"
	}
	digits := max(0, 2-int(math.Floor(math.Log10(math.Abs(x)))))
	return strconv.FormatFloat(x, 'f', min(digits, 3), 64)
}

// grouped prints 20000 as 20,000.
func grouped(n int) string {
	text := strconv.Itoa(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
