package ordering

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
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

// Target says how few waves Consolidate makes. The zero value merges what is proven
// independent and no more.
type Target struct {
	// AssumeIndependent also merges waves that merely no edge connects.
	AssumeIndependent bool
	// Into is the most waves that a phase may have; 0 is no bound. Waves that no
	// edge connects are merged until there are so few: those first that are proven
	// independent, then those whose numbers are nearest.
	Into int
	// Range bounds the new numbers, and so Into; nil: it does not.
	Range *WaveRange
}

// WaveRange is the lowest and the highest number that a wave may have. It holds 0,
// where resources without a number are.
type WaveRange struct{ Low, High int }

// most is how many waves a phase may have; 0 is no bound.
func (t Target) most() int {
	if t.Range == nil {
		return t.Into
	}
	most := t.Range.High - t.Range.Low + 1
	if t.Into > 0 {
		most = min(most, t.Into)
	}
	return most
}

// ConsolidatedWave is one old wave.
type ConsolidatedWave struct {
	// Application is the application of a stack whose resources the wave orders;
	// "" for none.
	Application string
	Phase       string // "PreSync", "Sync", "PostSync"
	Wave        int
	Resources   int
	To          int // its new number
	Boundary    Boundary
	Because     string // why it was merged with the one before it, or was not
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
// the earlier, and others as the target says. The wave that holds the old wave 0, or
// the first above it, gets number 0, unless a range leaves no room for that. Each
// application of a stack has waves of its own. A target that edges forbid is a
// *TooFewWavesError.
func Consolidate(resources []Resource, options Options, target Target) (*Consolidation, error) {
	options.Frame = FrameArgoCD
	b, err := newBuilder(resources, options)
	if err != nil {
		return nil, err
	}
	b.floatMoved()
	c := consolidator{builder: b, target: target, members: b.membersOf(), between: b.roadsBetween(), to: map[int]int{}}
	out := &Consolidation{Renumbered: map[object.ID]int{}}
	var errs []error
	for _, phase := range c.phases() {
		waves, err := c.consolidate(phase)
		out.Waves, errs = append(out.Waves, waves...), append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	if len(out.Waves) == 0 {
		return nil, errors.New("no resource is in a sync wave: there is nothing to consolidate")
	}
	c.renumber(out)
	return out, nil
}

type consolidator struct {
	*builder
	target  Target
	members [][]int
	between map[[2]int]road
	to      map[int]int // the new number of each set
}

// phaseOf is a phase of an application, or of what belongs to none.
type phaseOf struct {
	within int // the application's set; -1
	phase  phase
}

func (c *consolidator) phaseOf(s int) phaseOf { return phaseOf{c.sets[s].within, c.sets[s].at.phase} }

// phases are the sets of waves, by application and phase, in order.
func (c *consolidator) phases() [][]int {
	byPhase := map[phaseOf][]int{}
	for s, set := range c.sets {
		if set.kind == ArgoWave {
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

// consolidate gives the waves of one phase their new numbers.
func (c *consolidator) consolidate(sets []int) ([]ConsolidatedWave, error) {
	begins, lowest, err := c.grouped(sets)
	if err != nil {
		return nil, err
	}
	var waves []ConsolidatedWave
	var group []int // the old waves that share the current new one
	number := lowest
	for i, s := range sets {
		boundary, because := First, ""
		if i > 0 {
			boundary, because = c.boundary(group, s)
			boundary = decided(boundary, begins[i])
		}
		if i > 0 && begins[i] {
			group, number = nil, number+1
		}
		group, c.to[s] = append(group, s), number
		wave := ConsolidatedWave{
			Phase: c.sets[s].at.phase.String(), Wave: c.sets[s].at.wave, Resources: len(c.members[s]),
			To: number, Boundary: boundary, Because: because,
		}
		if w := c.sets[s].within; w >= 0 {
			wave.Application = c.sets[w].name
		}
		waves = append(waves, wave)
	}
	return waves, nil
}

// decided is the boundary in the words for what was decided about it.
func decided(b Boundary, kept bool) Boundary {
	switch {
	case kept && b != Kept:
		return Unproven
	case !kept && b != Merged:
		return Assumed
	}
	return b
}

// grouped finds which of the sets begin a new wave, and the number of the first.
func (c *consolidator) grouped(sets []int) (begins []bool, lowest int, err error) {
	if c.target.most() > 0 {
		return c.narrow(sets)
	}
	begins = make([]bool, len(sets))
	var group []int
	for i, s := range sets {
		if i > 0 {
			boundary, _ := c.boundary(group, s)
			begins[i] = boundary == Kept || boundary == Unproven && !c.target.AssumeIndependent
		}
		if begins[i] {
			group = nil
		}
		group = append(group, s)
	}
	return begins, -c.before(sets, begins), nil
}

// before counts the new waves before that of the old wave 0, or of the first above
// it.
func (c *consolidator) before(sets []int, begins []bool) int {
	number := 0
	for i, s := range sets {
		if i > 0 && begins[i] {
			number++
		}
		if c.sets[s].at.wave >= 0 {
			return number
		}
	}
	return number + 1
}

// boundary says what is known of a wave and those before it that it might join:
// Kept, Merged or Unproven, and why.
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
	lowest := map[phaseOf]int{}
	for s, number := range c.to {
		lowest[c.phaseOf(s)] = min(lowest[c.phaseOf(s)], number)
	}
	for i, r := range c.resources {
		s := c.layerOf[i]
		if s < 0 || c.sets[s].kind != ArgoWave || firstKey(r, syncWaveAnnotation, hookWeightAnnotation) == "" {
			continue
		}
		written, _, _ := writtenPlace(r)
		number := c.to[s]
		if c.sets[s].at.phase != written.phase { // it goes out in an earlier phase, whatever its number
			number = lowest[phaseOf{c.sets[s].within, written.phase}]
		}
		if number != written.wave {
			out.Renumbered[r.ID] = number
		}
	}
}
