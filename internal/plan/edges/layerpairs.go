package edges

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ordapply/ordapply/internal/plan/graph"
	"github.com/ordapply/ordapply/internal/plan/references"
)

// maxEach is the number of references between two layers that are reported one
// by one. More references are reported as one message with examples.
const maxEach = 3

// layerPair is a pair of layers where members of the earlier layer need members
// of the later one.
type layerPair struct {
	early, late string
	strength    graph.Strength
}

// byLayers groups contradictions by the pair of layers that causes them,
// keeping their order. A contradiction with another cause forms a group of its
// own.
func (b *Dependencies) byLayers(all []graph.Contradiction, wanted func(graph.Strength) bool) [][]graph.Contradiction {
	var groups [][]graph.Contradiction
	at := map[layerPair]int{}
	for _, c := range all {
		if !wanted(c.Edge.Strength) {
			continue
		}
		early, late, ok := b.layersBetween(c.Edge)
		pair := layerPair{early.Title(), late.Title(), c.Edge.Strength}
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
func (b *Dependencies) planErrors() []error {
	var errs []error
	for _, group := range b.byLayers(b.Dropped, func(s graph.Strength) bool { return s >= graph.Exists }) {
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
func (b *Dependencies) contradictions(group []graph.Contradiction) string {
	early, late, _ := b.layersBetween(group[0].Edge)
	return fmt.Sprintf("%s has %d references to %s, which is placed after it: %s; %s; %s",
		early.Title(), len(group), late.Title(), b.examples(group), outcome(group[0].Edge, early), b.fix(early, "each needed resource"))
}

// examples names the first references of a group and counts the others.
func (b *Dependencies) examples(group []graph.Contradiction) string {
	var out []string
	for _, c := range group[:maxEach] {
		needer, needed := b.ends(c.Edge)
		out = append(out, fmt.Sprintf("%s needs %s (%s)", needer, needed, c.Edge.Why))
	}
	return fmt.Sprintf("%s, and %d more", strings.Join(out, ", "), len(group)-maxEach)
}

// earlyNotes returns notes about resources that are applied before something
// that they need.
func (b *Dependencies) earlyNotes() []string {
	var notes []string
	for _, group := range b.byLayers(b.Dropped, func(s graph.Strength) bool { return s == graph.Required }) {
		if len(group) > maxEach {
			early, late, _ := b.layersBetween(group[0].Edge)
			notes = append(notes, fmt.Sprintf("%s has %d references to %s: their targets are applied later, because %s waits only until %s is applied: %s",
				early.Title(), len(group), late.Title(), late.Title(), early.Title(), b.examples(group)))
			continue
		}
		for _, c := range group {
			notes = append(notes, b.describeEarly(c))
		}
	}
	return notes
}

// PlanNotes returns the notes of a plan: about declarations, resources that are applied
// before their needs, and webhooks without a CA bundle.
func (b *Dependencies) PlanNotes() []string {
	return slices.Concat(b.Notes, b.earlyNotes(), b.unfilledNotes())
}

// unfilledNotes returns notes about webhook configurations whose CA bundle nothing in the
// stream sets.
func (b *Dependencies) unfilledNotes() []string {
	var notes []string
	for i, r := range b.Resources {
		if b.FillerOf(i) != references.FilledByNothing {
			continue
		}
		until := "until something in the cluster sets it, the API server rejects what its webhooks intercept, and a run waits"
		if references.FailsOpen(r) {
			until = "its webhooks fail open, so requests pass without them, and a run does not wait for it"
		}
		notes = append(notes, fmt.Sprintf("%s has no caBundle, and nothing in this stream sets one: %s", r.ID, until))
	}
	return notes
}
