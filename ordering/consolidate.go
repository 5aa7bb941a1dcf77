package ordering

import (
	"errors"
	"fmt"
	"slices"

	"github.com/ordapply/ordapply/object"
)

// Consolidation is a wide range of Argo CD's sync waves made narrow
// (RFC-DEPLOY-0001 §5.4). Each old wave gets a new number; two that an edge
// connects keep their order.
type Consolidation struct {
	Waves []ConsolidatedWave
	// Renumbered are the resources whose number changes, with the new one.
	Renumbered map[object.ID]int
}

// ConsolidatedWave is one old wave.
type ConsolidatedWave struct {
	Phase     string // "PreSync", "Sync", "PostSync"
	Wave      int
	Resources int
	To        int // its new number
	Boundary  Boundary
	Because   string // why it was merged with the one before it, or was not
}

// Boundary is what became of the line between a wave and the one before it.
type Boundary string

// The boundaries.
const (
	First    Boundary = "first"    // of its phase
	Kept     Boundary = "kept"     // an edge crosses it
	Merged   Boundary = "merged"   // nothing behind it can depend on anything before it
	Unproven Boundary = "unproven" // no edge crosses it, and nothing proves that none is missing; kept
	Assumed  Boundary = "assumed"  // the same, merged because the caller said so
)

// Consolidate renumbers the waves of a stream, phase by phase. It merges waves
// in a row when it is proven that nothing in the later depends on anything in
// the earlier; with assumeIndependent also when merely no edge connects them.
// The wave that holds the old wave 0, or the first above it, gets number 0.
func Consolidate(resources []Resource, options Options, assumeIndependent bool) (*Consolidation, error) {
	options.Frame = FrameArgoCD
	b, err := newBuilder(resources, options)
	if err != nil {
		return nil, err
	}
	b.floatMoved()
	c := consolidator{builder: b, assume: assumeIndependent, members: b.membersOf(), between: b.roadsBetween()}
	out := &Consolidation{Renumbered: map[object.ID]int{}}
	for _, phase := range c.phases() {
		out.Waves = append(out.Waves, c.consolidate(phase)...)
	}
	if len(out.Waves) == 0 {
		return nil, errors.New("no resource is in a sync wave: there is nothing to consolidate")
	}
	c.renumber(out)
	return out, nil
}

type consolidator struct {
	*builder
	assume  bool
	members [][]int
	between map[[2]int]road
}

// phases are the sets of waves, by phase, in order.
func (c *consolidator) phases() [][]int {
	byPhase := map[phase][]int{}
	for s, set := range c.sets {
		if set.kind == ArgoWave {
			byPhase[set.at.phase] = append(byPhase[set.at.phase], s)
		}
	}
	var out [][]int
	for _, p := range []phase{preSync, sync, postSync} {
		if len(byPhase[p]) > 0 {
			out = append(out, byPhase[p])
		}
	}
	return out
}

// consolidate gives the waves of one phase their new numbers.
func (c *consolidator) consolidate(sets []int) []ConsolidatedWave {
	var waves []ConsolidatedWave
	var group []int // the old waves that share the current new one
	number, zero := 0, 0
	zeroFound := false
	for i, s := range sets {
		boundary, because := First, ""
		if i > 0 {
			boundary, because = c.boundary(group, s)
		}
		if boundary == Kept || boundary == Unproven {
			group, number = nil, number+1
		}
		group = append(group, s)
		if c.sets[s].at.wave >= 0 && !zeroFound {
			zero, zeroFound = number, true
		}
		waves = append(waves, ConsolidatedWave{
			Phase: c.sets[s].at.phase.String(), Wave: c.sets[s].at.wave, Resources: len(c.members[s]),
			To: number, Boundary: boundary, Because: because,
		})
	}
	if !zeroFound {
		zero = number + 1
	}
	for i := range waves {
		waves[i].To -= zero
	}
	return waves
}

// boundary decides whether a wave joins those before it.
func (c *consolidator) boundary(group []int, s int) (Boundary, string) {
	for _, before := range group {
		if way, linked := c.between[[2]int{before, s}]; linked {
			return Kept, c.whyKept(way)
		}
	}
	inert := c.inert(c.members[s]) && !slices.ContainsFunc(group, func(g int) bool { return !c.inert(c.members[g]) })
	if inert {
		return Merged, "what they hold does nothing by itself, and nothing in the later names anything in the earlier"
	}
	because := "no edge connects them, but " + c.active(append(slices.Clone(group), s)).String() + " may depend on another, or another on it, without its manifest saying so"
	if c.assume {
		return Assumed, because
	}
	return Unproven, because
}

// whyKept tells of the resources that an edge connects, or several in a row.
func (c *consolidator) whyKept(way road) string {
	from, to := c.vertexName(way.first.from), c.vertexName(way.last.to)
	if way.first == way.last {
		return fmt.Sprintf("%s needs %s (%s)", to, from, way.last.why)
	}
	return fmt.Sprintf("%s needs %s, by way of %s (%s)", to, from, c.vertexName(way.last.from), way.last.why)
}

// active is a resource of which nothing is proven.
func (c *consolidator) active(sets []int) object.ID {
	for _, s := range slices.Backward(sets) {
		for _, i := range c.members[s] {
			if !inertKind(c.resources[i].ID.GroupKind()) {
				return c.resources[i].ID
			}
		}
	}
	return object.ID{}
}

// renumber lists the resources whose number changes: the number that is written
// on them, which is not that of their wave when Argo CD would move them out of
// it.
func (c *consolidator) renumber(out *Consolidation) {
	to := map[argoPlace]int{}
	lowest := map[phase]int{}
	for _, w := range out.Waves {
		p := phaseNamed(w.Phase)
		to[argoPlace{p, w.Wave}] = w.To
		lowest[p] = min(lowest[p], w.To)
	}
	for i, r := range c.resources {
		if c.layerOf[i] < 0 || firstKey(r, syncWaveAnnotation, hookWeightAnnotation) == "" {
			continue
		}
		written, _, _ := writtenPlace(r)
		at := c.sets[c.layerOf[i]].at
		number := to[at]
		if at.phase != written.phase {
			number = lowest[written.phase] // it goes out in an earlier phase, whatever its number
		}
		if number != written.wave {
			out.Renumbered[r.ID] = number
		}
	}
}
