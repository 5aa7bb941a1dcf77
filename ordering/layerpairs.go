package ordering

import (
	"errors"
	"fmt"
	"strings"
)

// maxEach is the number of references between two layers that are reported one
// by one. More references are reported as one message with examples.
const maxEach = 3

// layerPair is a pair of layers where members of the earlier layer need members
// of the later one.
type layerPair struct {
	early, late string
	strength    strength
}

// byLayers groups contradictions by the pair of layers that causes them,
// keeping their order. A contradiction with another cause forms a group of its
// own.
func (b *builder) byLayers(all []contradiction, wanted func(strength) bool) [][]contradiction {
	var groups [][]contradiction
	at := map[layerPair]int{}
	for _, c := range all {
		if !wanted(c.edge.strength) {
			continue
		}
		early, late, ok := b.layersBetween(c.edge)
		pair := layerPair{early.title(), late.title(), c.edge.strength}
		n, seen := at[pair]
		if !ok || !seen {
			n = len(groups)
			groups = append(groups, nil)
		}
		if ok {
			at[pair] = n
		}
		groups[n] = append(groups[n], c)
	}
	return groups
}

// planErrors returns the errors of a plan: inferred edges that cannot be dropped.
func (b *builder) planErrors() []error {
	var errs []error
	for _, group := range b.byLayers(b.dropped, func(s strength) bool { return s >= exists }) {
		if len(group) > maxEach {
			errs = append(errs, errors.New(b.contradictions(group)))
			continue
		}
		for _, c := range group {
			errs = append(errs, errors.New(b.contradiction(c)))
		}
	}
	return errs
}

// contradictions describes many contradicting references between two layers as one.
func (b *builder) contradictions(group []contradiction) string {
	early, late, _ := b.layersBetween(group[0].edge)
	return fmt.Sprintf("%s has %d references to %s, which is placed after it: %s; %s; %s",
		early.title(), len(group), late.title(), b.examples(group), outcome(group[0].edge, early), b.fix(early, "each needed resource"))
}

// examples names the first references of a group and counts the others.
func (b *builder) examples(group []contradiction) string {
	var out []string
	for _, c := range group[:maxEach] {
		needer, needed := b.ends(c.edge)
		out = append(out, fmt.Sprintf("%s needs %s (%s)", needer, needed, c.edge.why))
	}
	return fmt.Sprintf("%s, and %d more", strings.Join(out, ", "), len(group)-maxEach)
}

// earlyNotes returns notes about resources that are applied before something
// that they need.
func (b *builder) earlyNotes() []string {
	var notes []string
	for _, group := range b.byLayers(b.dropped, func(s strength) bool { return s == required }) {
		if len(group) > maxEach {
			early, late, _ := b.layersBetween(group[0].edge)
			notes = append(notes, fmt.Sprintf("%s has %d references to %s: their targets are applied later, because %s waits only until %s is applied: %s",
				early.title(), len(group), late.title(), late.title(), early.title(), b.examples(group)))
			continue
		}
		for _, c := range group {
			notes = append(notes, b.describeEarly(c))
		}
	}
	return notes
}
