// Package consolidate renumbers the sync waves of Argo CD, so that waves merge where no
// edge of the stream connects them.
//
//	result, err := consolidate.Waves(resources, ordering.Options{}, consolidate.Target{Into: 3})
//	result.Renumbered[id] // the number that argocd.argoproj.io/sync-wave must get
package consolidate

import (
	"cmp"
	"errors"
	"maps"
	"slices"

	"github.com/ordapply/ordapply/internal/plan/edges"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// Result is a smaller number of Argo CD's sync waves (RFC-DEPLOY-0001
// §5.4). Each old wave gets a new number; waves that an edge connects keep
// their order.
type Result struct {
	Waves []Wave // by application, phase and old number
	// Renumbered maps the resources whose wave number changes to the new
	// number, which argocd.argoproj.io/sync-wave must get.
	Renumbered map[object.ID]int
	// Swapped is how many pairs of waves that no edge connects change their order: none unless
	// waves are numbered by the longest path of edges to them.
	Swapped int
}

// Wave is the outcome for one old wave.
type Wave struct {
	// Application is the application of a stack that the wave belongs to; "" if
	// none.
	Application string
	Phase       string   // "PreSync", "Sync", "PostSync"
	Wave        int      // the old number
	Resources   int      // how many it has
	NewWave     int      // the new number
	Boundary    Boundary // to the wave before it
	Because     string   // why it was, or was not, merged with the wave before it
}

// Waves renumbers the waves of a stream, phase by phase. It merges
// consecutive waves if nothing in the later one can depend on the earlier one,
// and others as far as the target allows. The wave that contains the old wave
// 0, or the first one above it, becomes wave 0 unless the target's range leaves
// no room. Where merging neighbours leaves more waves than the target allows, and it says
// that waves without an edge are independent, waves are numbered by the longest path of
// edges to them. Each application of a stack has its own waves. It joins the errors
// about declarations, or a *TooFewWavesError for each phase where edges make the
// target impossible. No resource in a wave is an error, too.
func Waves(resources []ordering.Resource, options ordering.Options, target Target) (*Result, error) {
	options.OrderSource = ordering.OrderSourceArgoCD
	b, err := edges.Find(resources, options)
	if err != nil {
		return nil, err
	}
	c := consolidator{Dependencies: b, target: target, members: b.MembersOf(), between: b.PathsBetween(), to: map[int]int{}}
	out := &Result{Renumbered: map[object.ID]int{}}
	var errs []error
	for _, phase := range c.phases() {
		waves, err := c.consolidate(phase)
		if errors.As(err, new(*TooFewWavesError)) && target.AssumeIndependent {
			if levelled, swapped, ok := c.byLevels(phase); ok {
				waves, err = levelled, nil
				out.Swapped += swapped
			}
		}
		out.Waves, errs = append(out.Waves, waves...), append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	if len(out.Waves) == 0 {
		return nil, errors.New("no resource has a sync wave: there is nothing to consolidate")
	}
	c.renumber(out)
	return out, nil
}

type consolidator struct {
	*edges.Dependencies
	target  Target
	members [][]int
	between map[[2]int]edges.PathEnds
	to      map[int]int // the new number of each set
}

// phaseOf is a phase of an application, or of the resources outside
// applications.
type phaseOf struct {
	within int // the application's set, or -1
	phase  edges.Phase
}

func (c *consolidator) phaseOf(s int) phaseOf { return phaseOf{c.Sets[s].Within, c.Sets[s].At.Phase} }

// phases returns the wave sets of each application and phase, in order.
func (c *consolidator) phases() [][]int {
	byPhase := map[phaseOf][]int{}
	for s, set := range c.Sets {
		if set.Kind == ordering.ArgoWave {
			byPhase[c.phaseOf(s)] = append(byPhase[c.phaseOf(s)], s)
		}
	}
	var out [][]int
	for _, p := range slices.SortedFunc(maps.Keys(byPhase), func(a, b phaseOf) int {
		return cmp.Or(cmp.Compare(a.within, b.within), cmp.Compare(a.phase, b.phase))
	}) {
		out = append(out, byPhase[p])
	}
	return out
}

// consolidate assigns the waves of one phase their new numbers.
func (c *consolidator) consolidate(sets []int) ([]Wave, error) {
	begins, lowest, err := c.grouped(sets)
	if err != nil {
		return nil, err
	}
	var waves []Wave
	var group []int // the old waves that share the current new one
	number := lowest
	for i, s := range sets {
		boundary, because := BoundaryFirst, ""
		if i > 0 {
			boundary, because = c.boundary(group, s)
			boundary = decidedBoundary(boundary, begins[i])
		}
		if i > 0 && begins[i] {
			group, number = nil, number+1
		}
		group, c.to[s] = append(group, s), number
		wave := c.wave(s)
		wave.Boundary, wave.Because = boundary, because
		waves = append(waves, wave)
	}
	return waves, nil
}

// wave describes the wave of a set that has its new number.
func (c *consolidator) wave(s int) Wave {
	wave := Wave{Phase: c.Sets[s].At.Phase.String(), Wave: c.Sets[s].At.Wave, Resources: len(c.members[s]), NewWave: c.to[s]}
	if w := c.Sets[s].Within; w >= 0 {
		wave.Application = c.Sets[w].Name
	}
	return wave
}

// decidedBoundary returns the boundary after the decision to keep or merge it.
func decidedBoundary(b Boundary, kept bool) Boundary {
	switch {
	case kept && b != BoundaryKept:
		return BoundaryUnproven
	case !kept && b != BoundaryMerged:
		return BoundaryAssumed
	}
	return b
}

// grouped returns which sets begin a new wave, and the number of the first new
// wave.
func (c *consolidator) grouped(sets []int) (begins []bool, lowest int, err error) {
	if c.target.most() > 0 {
		return c.narrow(sets)
	}
	begins = make([]bool, len(sets))
	var group []int
	for i, s := range sets {
		if i > 0 {
			boundary, _ := c.boundary(group, s)
			begins[i] = boundary == BoundaryKept || boundary == BoundaryUnproven && !c.target.AssumeIndependent
		}
		if begins[i] {
			group = nil
		}
		group = append(group, s)
	}
	return begins, -c.before(sets, begins), nil
}

// renumber lists the resources whose number changes. It compares with the
// number in their annotations, which differs from their wave's if Argo CD moves
// them to another one.
func (c *consolidator) renumber(out *Result) {
	lowest := map[phaseOf]int{}
	for s, number := range c.to {
		lowest[c.phaseOf(s)] = min(lowest[c.phaseOf(s)], number)
	}
	for i, r := range c.Resources {
		s := c.LayerOf[i]
		if s < 0 || c.Sets[s].Kind != ordering.ArgoWave || !edges.HasWave(r) {
			continue
		}
		written, _, _ := edges.ParseArgoPlace(r)
		number := c.to[s]
		if c.Sets[s].At.Phase != written.Phase { // it is applied in an earlier phase, whatever its number
			number = lowest[phaseOf{c.Sets[s].Within, written.Phase}]
		}
		if number != written.Wave {
			out.Renumbered[r.ID] = number
		}
	}
}
