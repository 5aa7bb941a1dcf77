package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/ordapply/ordapply/test/corpora"
	"github.com/ordapply/ordapply/test/measure"
	"github.com/ordapply/ordapply/test/unkind"
)

// check is a limit and the figure that it is for.
type check struct {
	what     string
	estimate measure.Estimate // if measured
	figure   string
	limit    string
	kept     bool // by the median, or at least by the interval
	above    bool // the median is
	measured bool
}

// metric is a figure of a sample.
type metric func(Sample) float64

func wall(s Sample) float64     { return s.Wall }
func cpu(s Sample) float64      { return s.CPU }
func peak(s Sample) float64     { return s.Peak }
func requests(s Sample) float64 { return float64(s.Requests) }
func own(s Sample) float64      { return s.Alone }
func chained(s Sample) float64  { return s.Critical }
func grace(s Sample) float64    { return s.Grace }

// over is the time over what any program needs that keeps the order: the longest chain of
// the objects' own times, or the time until all is ready without an order, if that is longer.
func over(s Sample) float64 {
	if s.isWrong() && s.Alone > 0 {
		return s.Wall / s.Alone
	}
	return s.Wall / max(s.Critical, s.Alone)
}

// isWrong reports whether a chain is longer than the run that it is a part of: it does not count.
func (s Sample) isWrong() bool { return s.Critical > s.Wall }

// overAlone is the time over that until all is ready without an order.
func overAlone(s Sample) float64 { return s.Wall / s.Alone }

// estimate returns the median of a peer's figure in a phase; false if there is none.
func (p Part) estimate(peer, phase string, of metric) (measure.Estimate, bool) {
	var values []float64
	for _, s := range p.of(peer, phase) {
		values = append(values, of(s))
	}
	if len(values) == 0 {
		return measure.Estimate{}, false
	}
	return measure.Of(values), true
}

// ratio returns the median of the ratios of two peers' figures, round by round.
func (p Part) ratio(ours, theirs, phase string, of metric) (measure.Estimate, bool) {
	var ratios []float64
	other := p.of(theirs, phase)
	for round, s := range p.of(ours, phase) {
		if o, both := other[round]; both && of(o) > 0 {
			ratios = append(ratios, of(s)/of(o))
		}
	}
	if len(ratios) == 0 {
		return measure.Estimate{}, false
	}
	return measure.Of(ratios), true
}

// checks compares the results with all limits. A limit is lost if the whole interval is
// above it, or nothing was measured.
func checks(r Results) []check {
	var all []check
	most := func(what string, limit float64, unit string, e measure.Estimate, measured bool) {
		c := check{what: what, limit: "at most " + number(limit) + unit, measured: measured, kept: measured && e.Low <= limit, above: measured && e.Median > limit, estimate: e, figure: "not measured"}
		if measured {
			c.figure = interval(e) + unit
		}
		all = append(all, c)
	}
	for _, size := range []int{1000, 20_000} {
		part := r.part("objects", size)
		for i, ours := range []string{plain, set} {
			e, ok := part.ratio(ours, floor, "first", wall)
			most(fmt.Sprintf("first apply of %s objects over the floor, %s", grouped(size), ours), []float64{1.10, 1.15}[i], "", e, ok)
		}
		for _, ours := range []string{plain, set} {
			of := ""
			best, ok := part.fastest("no-op")
			if ok {
				of = " of " + best
			}
			e, both := part.ratio(ours, best, "no-op", wall)
			most(fmt.Sprintf("no-op of %s objects over that of the fastest peer, %s", grouped(size), ours), 1.0/6, of, e, ok && both)
		}
	}
	e, ok := r.part("move", 20_000).estimate(set, "move", requests)
	most("requests for each of 20,000 objects that move into a set", 1.01, "", divided(e, 20_000), ok)
	for i, size := range []int{20_000, 1} {
		for _, ours := range []string{plain, set} {
			e, ok := r.part("objects", size).estimate(ours, "first", peak)
			most(fmt.Sprintf("peak memory of the first apply, objects: %s, %s", grouped(size), ours), []float64{250, 60}[i], " MiB", e, ok)
		}
	}
	e, ok = r.part("plan", 100_000).estimate(plain, "plan", wall)
	most("planning 100,000 resources", 2, " s", e, ok)
	e, ok = r.part("filter", 100_000).estimate("sortorder", "filter", peak)
	most("peak memory of the filter, 100,000 documents", 600, " MiB", e, ok)
	s, ok := r.slope("filter", "sortorder", "filter", 25_000, 100_000, wall)
	most("growth of the filter from 25,000 to 100,000 documents (1 is linear)", 1.1, "", s, ok)
	for _, ours := range []string{plain, set} {
		for _, phase := range []string{"first", "no-op", "delete"} {
			s, ok := r.slope("objects", ours, phase, 5000, 50_000, wall)
			most(fmt.Sprintf("growth of the time of %s from 5,000 to 50,000 objects, %s", phase, ours), 1.1, "", s, ok)
			s, ok = r.slope("objects", ours, phase, 5000, 50_000, peak)
			most(fmt.Sprintf("growth of the memory of %s from 5,000 to 50,000 objects, %s", phase, ours), 1.1, "", s, ok)
		}
	}
	for _, shape := range shapes() {
		e, ok := r.part(shape, len(graphs()[shape])).estimate(byGraph, "ready", over)
		most(fmt.Sprintf("Deployments, %s: time over the critical path, %s", shape, byGraph), mostOver, "", e, ok)
	}
	for _, p := range installs() {
		e, ok := r.find(p).estimate(plain, "ready", over)
		most(p.title()+": time until all is ready over the least", mostOver, "", e, ok)
	}
	return all
}

// installs returns the parts that must have been measured until all is ready: the programs
// and the real streams.
func installs() []Part {
	var all []Part
	programs, _ := unkind.Programs() // which are embedded
	for _, p := range programs {
		all = append(all, Part{Work: "programs", Name: p.Name})
	}
	for _, name := range corpora.Applied() {
		all = append(all, Part{Work: "streams", Name: name})
	}
	return all
}

// mostOver is the limit of the time until all is ready, grace included, over what it takes
// at least.
const mostOver = 1.15

// isFloor reports whether a peer is a floor: a measure, and no program that people use.
func isFloor(peer string) bool { return strings.HasPrefix(peer, floor) }

// fastest returns the peer with the lowest median time in a phase, without the floor.
func (p Part) fastest(phase string) (name string, found bool) {
	least := 0.0
	for _, other := range allPeers() {
		if other.against == "" || isFloor(other.name) {
			continue
		}
		if e, ok := p.estimate(other.name, phase, wall); ok && (!found || e.Median < least) {
			name, least, found = other.name, e.Median, true
		}
	}
	return name, found
}

// slope returns the exponent by which the median grows between two sizes, if both were measured at
// the same commit on the same day: a machine is not equally fast every day.
func (r Results) slope(work, peer, phase string, size, larger int, of metric) (measure.Estimate, bool) {
	low, ok := r.part(work, size).estimate(peer, phase, of)
	high, also := r.part(work, larger).estimate(peer, phase, of)
	if !ok || !also || r.part(work, size).Taken != r.part(work, larger).Taken {
		return measure.Estimate{}, false
	}
	between := func(a, b float64) float64 { return measure.Slope(float64(size), a, float64(larger), b) }
	return measure.Estimate{Median: between(low.Median, high.Median), Low: between(low.High, high.Low), High: between(low.Low, high.High), N: min(low.N, high.N)}, true
}

func divided(e measure.Estimate, by float64) measure.Estimate {
	return measure.Estimate{Median: e.Median / by, Low: e.Low / by, High: e.High / by, N: e.N}
}

// printChecks prints all checks. The error says that one is lost.
func printChecks(out io.Writer, r Results) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	lost := 0
	for _, c := range checks(r) {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", c.verdict(), c.what, c.figure, c.limit)
		if !c.kept {
			lost++
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if lost > 0 {
		return errors.New(fmt.Sprint(lost, " limits are not kept, or not measured"))
	}
	return nil
}

func (c check) verdict() string {
	switch {
	case !c.measured:
		return "NOT MEASURED"
	case !c.kept:
		return "NOT KEPT"
	case c.above:
		return "only the interval keeps it"
	}
	return "kept"
}
