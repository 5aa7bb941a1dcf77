package ordering

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/ordapply/ordapply/internal/declared"
	"github.com/ordapply/ordapply/internal/references"
	"github.com/ordapply/ordapply/object"
)

// Consolidation reduces the number of Argo CD's sync waves (RFC-DEPLOY-0001
// §5.4). Each old wave gets a new number; waves that an edge connects keep
// their order.
type Consolidation struct {
	Waves []ConsolidatedWave // by application, phase and old number
	// Renumbered maps the resources whose wave number changes to the new
	// number, which argocd.argoproj.io/sync-wave must get.
	Renumbered map[object.ID]int
}

// Target bounds the result of Consolidate. The zero value merges only waves
// that are proven independent.
type Target struct {
	// AssumeIndependent also merges waves that no edge connects, without proof.
	AssumeIndependent bool
	// Into is the maximum number of waves of a phase; 0 means no limit. Waves
	// that no edge connects are merged until the limit is met: first those
	// proven independent, then those with the closest numbers.
	Into int
	// Range bounds the new numbers and thereby Into; nil means no bound.
	Range *WaveRange
}

// WaveRange is the lowest and the highest permitted wave number. It must
// contain 0, the wave of resources without a number.
type WaveRange struct{ Low, High int }

// most returns the maximum number of waves of a phase; 0 means no limit.
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

// ConsolidatedWave describes what happened to one old wave.
type ConsolidatedWave struct {
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

// Boundary describes what happened to the boundary between a wave and the one
// before it.
type Boundary string

// Values of Boundary.
const (
	BoundaryFirst    Boundary = "first"    // of its phase
	BoundaryKept     Boundary = "kept"     // an edge crosses it
	BoundaryMerged   Boundary = "merged"   // nothing after it can depend on anything before it
	BoundaryUnproven Boundary = "unproven" // no edge crosses it, but a missing edge cannot be ruled out; kept
	BoundaryAssumed  Boundary = "assumed"  // like BoundaryUnproven, but merged because the target asks for it
)

// Consolidate renumbers the waves of a stream, phase by phase. It merges
// consecutive waves if nothing in the later one can depend on the earlier one,
// and others as far as the target allows. The wave that contains the old wave
// 0, or the first one above it, becomes wave 0 unless the target's range leaves
// no room. Each application of a stack has its own waves. It joins the errors
// about declarations, or a *TooFewWavesError for each phase where edges make the
// target impossible. No resource in a wave is an error, too.
func Consolidate(resources []references.Resource, options Options, target Target) (*Consolidation, error) {
	options.OrderSource = OrderSourceArgoCD
	b, err := newBuilder(resources, options)
	if err != nil {
		return nil, err
	}
	b.floatMoved()
	c := consolidator{builder: b, target: target, members: b.membersOf(), between: b.pathsBetween(), to: map[int]int{}}
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
		return nil, errors.New("no resource has a sync wave: there is nothing to consolidate")
	}
	c.renumber(out)
	return out, nil
}

type consolidator struct {
	*builder
	target  Target
	members [][]int
	between map[[2]int]pathEnds
	to      map[int]int // the new number of each set
}

// phaseOf is a phase of an application, or of the resources outside
// applications.
type phaseOf struct {
	within int // the application's set, or -1
	phase  declared.Phase
}

func (c *consolidator) phaseOf(s int) phaseOf { return phaseOf{c.Sets[s].Within, c.Sets[s].At.Phase} }

// phases returns the wave sets of each application and phase, in order.
func (c *consolidator) phases() [][]int {
	byPhase := map[phaseOf][]int{}
	for s, set := range c.Sets {
		if set.Kind == ArgoWave {
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
func (c *consolidator) consolidate(sets []int) ([]ConsolidatedWave, error) {
	begins, lowest, err := c.grouped(sets)
	if err != nil {
		return nil, err
	}
	var waves []ConsolidatedWave
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
		wave := ConsolidatedWave{
			Phase: c.Sets[s].At.Phase.String(), Wave: c.Sets[s].At.Wave, Resources: len(c.members[s]),
			NewWave: number, Boundary: boundary, Because: because,
		}
		if w := c.Sets[s].Within; w >= 0 {
			wave.Application = c.Sets[w].Name
		}
		waves = append(waves, wave)
	}
	return waves, nil
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

// before counts the new waves before the one that holds the old wave 0, or the
// first wave above it.
func (c *consolidator) before(sets []int, begins []bool) int {
	number := 0
	for i, s := range sets {
		if i > 0 && begins[i] {
			number++
		}
		if c.Sets[s].At.Wave >= 0 {
			return number
		}
	}
	return number + 1
}

// boundary returns whether a set may join the group of waves before it, as
// BoundaryKept, BoundaryMerged or BoundaryUnproven, and the reason.
func (c *consolidator) boundary(group []int, s int) (Boundary, string) {
	for _, before := range group {
		if way, linked := c.between[[2]int{before, s}]; linked {
			return BoundaryKept, c.keptReason(way)
		}
	}
	inert := c.isInert(c.members[s]) && !slices.ContainsFunc(group, func(g int) bool { return !c.isInert(c.members[g]) })
	if inert {
		return BoundaryMerged, "their resources are inert, and nothing in the later one refers to anything in the earlier one"
	}
	because := "no edge connects them, but " + c.active(append(slices.Clone(group), s)).String() + " may have dependencies or dependents that no manifest shows"
	return BoundaryUnproven, because
}

// keptReason names the two resources that an edge or a path connects.
func (c *consolidator) keptReason(way pathEnds) string {
	from, to := c.vertexName(way.first.From), c.vertexName(way.last.To)
	if way.first == way.last {
		return fmt.Sprintf("%s needs %s (%s)", to, from, way.last.Why)
	}
	return fmt.Sprintf("%s needs %s through %s (%s)", to, from, c.vertexName(way.last.From), way.last.Why)
}

// active returns a resource whose kind may have side effects, so that
// independence is not proven.
func (c *consolidator) active(sets []int) object.ID {
	for _, s := range slices.Backward(sets) {
		for _, i := range c.members[s] {
			if !isInertKind(c.Resources[i].ID.GroupKind()) {
				return c.Resources[i].ID
			}
		}
	}
	return object.ID{}
}

// renumber lists the resources whose number changes. It compares with the
// number in their annotations, which differs from that of their wave if Argo CD
// moves them to another one.
func (c *consolidator) renumber(out *Consolidation) {
	lowest := map[phaseOf]int{}
	for s, number := range c.to {
		lowest[c.phaseOf(s)] = min(lowest[c.phaseOf(s)], number)
	}
	for i, r := range c.Resources {
		s := c.LayerOf[i]
		if s < 0 || c.Sets[s].Kind != ArgoWave || !declared.HasWave(r) {
			continue
		}
		written, _, _ := declared.ParseArgoPlace(r)
		number := c.to[s]
		if c.Sets[s].At.Phase != written.Phase { // it is applied in an earlier phase, whatever its number
			number = lowest[phaseOf{c.Sets[s].Within, written.Phase}]
		}
		if number != written.Wave {
			out.Renumbered[r.ID] = number
		}
	}
}
