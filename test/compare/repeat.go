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
		return "one round"
	case r.first.Low <= r.now.High && r.now.Low <= r.first.High:
		return "overlap"
	case r.first.Low <= r.now.High*notable && r.now.Low <= r.first.High*notable:
		return "within 2 %"
	case r.now.High < r.first.Low:
		return lower
	}
	return higher
}

// What is said of intervals that lie apart.
const (
	lower  = "LOWER"
	higher = "HIGHER"
)

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
	limits, verdicts := 0, map[string]int{}
	for _, r := range repeats(first, now) {
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%s\t%d\n", r.verdict(), r.what, interval(r.first), r.first.N, interval(r.now), r.now.N)
		if r.limited {
			limits++
			verdicts[r.verdict()]++
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	switch {
	case limits == 0:
		return fmt.Errorf("the results have no figure of a limit in common")
	case verdicts[lower]+verdicts[higher] > 0:
		return fmt.Errorf("of %d figures of limits, %d are lower and %d higher than those of the other run by more than their intervals and 2 %%", limits, verdicts[lower], verdicts[higher])
	}
	return nil
}
