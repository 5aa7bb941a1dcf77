package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/ordapply/ordapply/test/measure"
)

// repeated is a figure of two runs.
type repeated struct {
	what       string
	first, now measure.Estimate
	limited    bool // the figure has a limit, and can be repeated
}

// verdict compares the intervals, which a single round does not have. Those of counts and of
// what is hardly noisy have no width, so that less than a notable ratio between them is none.
func (r repeated) verdict() string {
	switch {
	case r.first.N < 2 || r.now.N < 2:
		return single
	case r.first.Low <= r.now.High && r.now.Low <= r.first.High:
		return "overlap"
	case r.first.Low <= r.now.High*notable && r.now.Low <= r.first.High*notable:
		return "within 2 %"
	case r.now.High < r.first.Low:
		return lower
	}
	return higher
}

// What is said of figures without an interval, and of intervals that lie apart.
const (
	single = "one round"
	lower  = "LOWER"
	higher = "HIGHER"
)

// chance is how probably the intervals of two equal figures lie apart: all rounds of one run are
// less than all of the other. From six rounds on, intervals contain the median with 95 %, and
// the chance is about that of six.
func (r repeated) chance() float64 {
	n, m := min(r.first.N, 6), min(r.now.N, 6)
	chance := 2.0
	for i := range n {
		chance *= float64(i+1) / float64(m+i+1)
	}
	return chance
}

// repetition counts the verdicts of figures.
type repetition struct {
	verdicts map[string]int
	chance   float64 // how many intervals of equal figures would lie apart
}

func (r *repetition) add(figure repeated) {
	if r.verdicts == nil {
		r.verdicts = map[string]int{}
	}
	r.verdicts[figure.verdict()]++
	if figure.verdict() != single {
		r.chance += figure.chance()
	}
}

func (r repetition) compared() int {
	n := 0
	for verdict, count := range r.verdicts {
		if verdict != single {
			n += count
		}
	}
	return n
}

// String says how many intervals lie apart.
func (r repetition) String() string {
	return fmt.Sprintf("of %d figures, %d are lower and %d higher by more than their intervals and 2 %%; of as many equal figures, %.0f would be by chance",
		r.compared(), r.verdicts[lower], r.verdicts[higher], r.chance)
}

// isTime reports whether a figure is in seconds, which another machine does not repeat.
func (c check) isTime() bool { return strings.HasSuffix(c.limit, " s") }

// sameMachine reports whether the same machine measured all times of two results.
func (r Results) sameMachine(other Results) bool {
	machines := map[string]bool{}
	for _, p := range slices.Concat(r.Parts, other.Parts) {
		if p.Tries == nil {
			machines[p.Taken.Machine] = true
		}
	}
	return len(machines) == 1
}

// repeats returns the figures of limits that both results have, and the ratios of ordapply's
// figures to those of its peers.
func repeats(first, now Results) []repeated {
	var found []repeated
	here := now.sameMachine(first)
	again := checks(now)
	for _, c := range checks(first) {
		at := slices.IndexFunc(again, func(other check) bool { return other.what == c.what && other.measured })
		if c.measured && at >= 0 {
			found = append(found, repeated{c.what, c.estimate, again[at].estimate, here || !c.isTime()})
		}
	}
	for _, part := range now.Parts {
		at := slices.IndexFunc(first.Parts, part.same)
		if at < 0 {
			continue
		}
		for _, other := range part.names() {
			if strings.HasPrefix(other, plain) {
				continue
			}
			ours := part.against(other)
			for _, phase := range part.phases() {
				for _, m := range metrics() {
					before, ok := first.Parts[at].ratio(ours, other, phase, m.of)
					after, both := part.ratio(ours, other, phase, m.of)
					if ok && both {
						found = append(found, repeated{fmt.Sprintf("%s, %s, %s: %s over %s", part.title(), phase, m.name, ours, other), before, after, false})
					}
				}
			}
		}
	}
	return found
}

// printRepeat prints the figures of two runs. The error says that the intervals of a limit's
// figure do not overlap.
func printRepeat(out io.Writer, first, now Results) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "INTERVALS\tFIGURE\tOTHER\tROUNDS\tTHESE\tROUNDS")
	var limits repetition
	for _, r := range repeats(first, now) {
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%s\t%d\n", r.verdict(), r.what, interval(r.first), r.first.N, interval(r.now), r.now.N)
		if r.limited {
			limits.add(r)
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	switch {
	case len(limits.verdicts) == 0:
		return fmt.Errorf("the results have no figure of a limit in common")
	case limits.verdicts[lower]+limits.verdicts[higher] > 0:
		return fmt.Errorf("limits: %s", limits)
	}
	return nil
}

// writeRepeated compares the results with those of another day.
func writeRepeated(b *strings.Builder, r, again Results) {
	if len(again.Parts) == 0 {
		return
	}
	var taken []string
	for _, p := range again.Parts {
		if text := fmt.Sprintf("on %s with ordapply at commit %s (%s)", p.Taken.Date, p.Taken.Commit, p.Taken.Machine); !slices.Contains(taken, text) {
			taken = append(taken, text)
		}
	}
	var rows [][]string
	var limits, others repetition
	for _, figure := range repeats(r, again) {
		kind := "other"
		if figure.limited {
			kind = "limit"
			limits.add(figure)
		} else {
			others.add(figure)
		}
		if verdict := figure.verdict(); verdict == lower || verdict == higher {
			rows = append(rows, []string{figure.what, kind, interval(figure.first), interval(figure.now), strings.ToLower(verdict)})
		}
	}
	fmt.Fprintf(b, "## Repeated\n\nMeasured again %s: [results](benchmarks/repeated.json).\n\n- Limits: %s.\n- Others, which are ratios to other programs, and seconds of another machine: %s.\n\n"+
		"Those that are:\n\n", strings.Join(taken, "; "), limits, others)
	table(b, []string{"", "", "figure", "repeated", ""}, rows)
}
