package main

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/ordapply/ordapply/test/measure"
)

// writePage writes benchmarks.md and its pictures into a folder.
func writePage(r Results, folder string) error {
	text, pictures := page(r)
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

` + "`make compare`" + ` measured everything on this page, all times on one machine, and wrote it. All programs did the
same work on the same control planes in the same run, one process at a time: in each round all of
them, every second round in reverse. A figure is the median, with the interval that contains it with 95 %
confidence; with fewer than six rounds, the range. A ratio is the median of the ratios of each round.
A command is killed after minutes, which a table then gives as "over". It is not repeated after it has
failed, nor, of another program, after it has taken a minute in all rounds together.

Times are from the start to the end of a process, CPU is that of the client. Requests are those that
the audit log of the API server has from the client. Each program has used the control plane before,
so that its caches are filled. The control plane runs on the same machine, without controllers
where nothing waits for them. The floor is [a loop](../test/bench/bare/main.go) that sends a request an
object, 32 at a time, without an order, checks or waiting. Annotated, it adds an annotation to each object, as
ordapply does to know it again: most of what that costs is the API server's work on field managers.

`

// page renders the results: the page, and its pictures by name.
func page(r Results) (text string, pictures map[string]string) {
	var b strings.Builder
	b.WriteString(intro)
	pictures = map[string]string{}
	sections := []func(*strings.Builder, Results, map[string]string){
		writeTaken, writeBetter, writeLimits, writeObjects, writeFar, writeSlopes, writeGraphs, writePlan, writeFunction, writePrograms, writeStreams, writeEngines, writeTries, writeFailures, writePeers,
	}
	for _, section := range sections {
		section(&b, r, pictures)
	}
	return strings.TrimRight(b.String(), "\n") + "\n", pictures
}

// writeTaken lists when and where which parts were measured, in how many rounds.
func writeTaken(b *strings.Builder, r Results, _ map[string]string) {
	parts := map[Taken][]string{}
	var order []Taken
	for _, p := range r.Parts {
		if parts[p.Taken] == nil {
			order = append(order, p.Taken)
		}
		if text := r.inRounds(p); !slices.Contains(parts[p.Taken], text) {
			parts[p.Taken] = append(parts[p.Taken], text)
		}
	}
	for _, t := range order {
		collected := ""
		if t.Collected {
			collected = " Before each command the API server collected its garbage, so that none paid for those before it."
		}
		fmt.Fprintf(b, "%s: measured on %s, ordapply at commit %s, Kubernetes %s, %s.%s\n\n", strings.Join(parts[t], "; "), t.Date, t.Commit, t.Kubernetes, t.Machine, collected)
	}
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

// named is a metric with its name and unit.
type named struct {
	name, unit string
	of         metric
}

func metrics() []named {
	return []named{{"time", " s", wall}, {"CPU", " s", cpu}, {"memory", " MiB", peak}, {"requests", "", requests}}
}

// writeBetter lists each figure in which a peer is better than ordapply for the same work,
// by more than the interval.
func writeBetter(b *strings.Builder, r Results, _ map[string]string) {
	var rows [][]string
	for _, part := range r.Parts {
		for _, other := range part.names() {
			if isFloor(other) || strings.HasPrefix(other, plain) {
				continue
			}
			against := part.against(other)
			for _, phase := range part.phases() {
				for _, m := range metrics() {
					ratio, ok := part.ratio(against, other, phase, m.of)
					if !ok || ratio.Low <= 1 {
						continue
					}
					ours, _ := part.estimate(against, phase, m.of)
					theirs, _ := part.estimate(other, phase, m.of)
					rows = append(rows, []string{part.title(), phase, m.name, other, number(theirs.Median) + m.unit, against, number(ours.Median) + m.unit, interval(ratio)})
				}
			}
		}
	}
	b.WriteString("## Where another program is better\n\n")
	if len(rows) == 0 {
		b.WriteString("In no figure on this page, by more than the interval.\n\n")
		return
	}
	b.WriteString("By more than the interval, for the same work:\n\n")
	table(b, []string{"work", "run", "figure", "better", "", "than", "", "ratio"}, rows)
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
func writeLimits(b *strings.Builder, r Results, _ map[string]string) {
	b.WriteString("## Limits\n\n`make compare-check` fails if one is lost by more than its interval.\n\n")
	var rows [][]string
	for _, c := range checks(r) {
		rows = append(rows, []string{c.what, c.figure, c.limit, c.verdict()})
	}
	table(b, []string{"", "figure", "limit", ""}, rows)
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
		"kubectl and kapply have no settings for speed.\n\n")
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
