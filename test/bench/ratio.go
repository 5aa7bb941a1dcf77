package main

import (
	"fmt"
	"slices"
	"time"

	"github.com/ordapply/ordapply/test/measure"
)

// pairs are alternating measurements of two ways to do the same.
type pairs struct {
	ours, theirs []time.Duration
}

// side measures one way in a round.
type side func(round int) (time.Duration, error)

// compare measures pairs, and reports their ratio.
func (b *bench) compare(what string, limit float64, ours, theirs side) error {
	p, err := alternate(b.rounds, ours, theirs)
	if err == nil {
		p.report(what, limit)
	}
	return err
}

// alternate measures n pairs; the side that runs first alternates.
func alternate(n int, ours, theirs side) (pairs, error) {
	var p pairs
	for round := range n {
		sides := []func() error{
			func() error { d, err := ours(round); p.ours = append(p.ours, d); return err },
			func() error { d, err := theirs(round); p.theirs = append(p.theirs, d); return err },
		}
		if round%2 == 1 {
			slices.Reverse(sides)
		}
		for _, side := range sides {
			if err := side(); err != nil {
				return p, err
			}
		}
	}
	return p, nil
}

// report prints the medians, the median of the paired ratios, and its 95 %
// interval from order statistics.
func (p pairs) report(what string, limit float64) {
	ratios := make([]float64, len(p.ours))
	for i := range ratios {
		ratios[i] = float64(p.ours[i]) / float64(p.theirs[i])
	}
	slices.Sort(ratios)
	low, high := measure.Interval(len(ratios))
	fmt.Printf("%s: ours %s, theirs %s (medians of %d); ratio %.3f, 95 %% interval %.3f to %.3f; limit %.2f: %s\n",
		what, measure.Median(p.ours).Round(time.Millisecond), measure.Median(p.theirs).Round(time.Millisecond), len(ratios),
		ratios[len(ratios)/2], ratios[low], ratios[high], limit, verdict(ratios[low] <= limit))
}

func verdict(kept bool) string {
	if kept {
		return "kept"
	}
	return "NOT KEPT"
}
