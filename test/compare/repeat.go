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
		return overlap
	case r.first.Low <= r.now.High*notable && r.now.Low <= r.first.High*notable:
		return near
	case r.now.High < r.first.Low:
		return lower
	}
	return higher
}

// What is said of two intervals.
const (
	single  = "one round"
	overlap = "overlap"
	near    = "within 2 %"
	lower   = "LOWER"
	higher  = "HIGHER"
)

// sure reports whether both intervals contain the median with 95 %. Ranges of three rounds each
// lie apart in one of ten pairs although nothing changed, those of two in one of three.
func (r repeated) sure() bool { return min(r.first.N, r.now.N) >= 6 }

// isApart reports whether the intervals lie apart.
func (r repeated) isApart() bool { return r.verdict() == lower || r.verdict() == higher }

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
		at := slices.IndexFunc(again, func(other check) bool { return other.what == c.what && other.limit == c.limit && other.measured })
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
// figure, of six rounds and more, lie apart.
func printRepeat(out io.Writer, first, now Results) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "INTERVALS\tFIGURE\tOTHER\tROUNDS\tTHESE\tROUNDS")
	limits, apart := 0, 0
	for _, r := range repeats(first, now) {
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%s\t%d\n", r.verdict(), r.what, interval(r.first), r.first.N, interval(r.now), r.now.N)
		switch {
		case !r.limited:
			continue
		case r.sure() && r.isApart():
			apart++
		}
		limits++
	}
	if err := w.Flush(); err != nil {
		return err
	}
	switch {
	case limits == 0:
		return fmt.Errorf("the results have no figure of a limit in common")
	case apart > 0:
		return fmt.Errorf("%d of %d figures of limits, of six rounds and more, differ from those of the other run by more than their intervals and 2 %%", apart, limits)
	}
	return nil
}

// writeRepeated compares the results with those of another day.
func writeRepeated(b *strings.Builder, r, again Results) {
	if len(again.Parts) == 0 {
		return
	}
	fmt.Fprintf(b, "## Repeated\n\nMeasured %s; [again](benchmarks/repeated.json) %s.", strings.Join(r.runs(), ", "), strings.Join(again.runs(), ", "))
	thousand := Part{Work: "objects", Size: 1000}
	before, ok := r.find(thousand).estimate(floor, "first", wall)
	after, both := again.find(thousand).estimate(floor, "first", wall)
	if ok && both {
		fmt.Fprintf(b, " The floor took %s s for the first apply of 1,000 objects, and again %s s.", interval(before), interval(after))
	}
	b.WriteString("\n\n")
	var limits, others []repeated
	for _, figure := range repeats(r, again) {
		if figure.limited {
			limits = append(limits, figure)
		} else {
			others = append(others, figure)
		}
	}
	writeVerdicts(b, "Figures of limits", limits)
	writeVerdicts(b, "Ratios to other programs, and seconds of another machine", others)
	writeApart(b, slices.Concat(limits, others))
}

// writeVerdicts counts the verdicts of figures.
func writeVerdicts(b *strings.Builder, what string, figures []repeated) {
	counts := map[string]int{}
	for _, figure := range figures {
		counts[figure.verdict()]++
	}
	fmt.Fprintf(b, "- %s: %d overlap, or lie apart by less than 2 %%; %d are lower, %d higher. %d are of one round, and not compared.\n",
		what, counts[overlap]+counts[near], counts[lower], counts[higher], counts[single])
}

// writeApart lists the figures whose intervals lie apart.
func writeApart(b *strings.Builder, figures []repeated) {
	var rows [][]string
	for _, figure := range figures {
		if figure.isApart() {
			rows = append(rows, []string{figure.what, figure.rounds(), interval(figure.first), interval(figure.now), strings.ToLower(figure.verdict())})
		}
	}
	if len(rows) > 0 {
		b.WriteString("\nThose that lie apart, first those of limits. Ranges of three rounds each lie apart in one of ten pairs although nothing changed, those of two rounds in one of three:\n\n")
		table(b, []string{"", "rounds", "figure", "repeated", ""}, rows)
	}
}

// rounds says of how many rounds both figures are.
func (r repeated) rounds() string {
	if r.first.N == r.now.N {
		return fmt.Sprint(r.now.N)
	}
	return fmt.Sprintf("%d, %d", r.first.N, r.now.N)
}

// runs says when, with which commits and where all times were measured.
func (r Results) runs() []string {
	var texts []string
	for _, p := range r.Parts {
		text := fmt.Sprintf("on %s at commit %s (%s)", p.Taken.Date, p.Taken.Commit, p.Taken.Machine)
		if p.Tries == nil && !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	return texts
}
