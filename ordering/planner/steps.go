package planner

import (
	"slices"
	"strings"
	"time"

	"github.com/ordapply/ordapply/internal/plan/edges"
	"github.com/ordapply/ordapply/internal/plan/graph"
	"github.com/ordapply/ordapply/internal/plan/references"
	"github.com/ordapply/ordapply/ordering"
)

// steps returns the steps of the plan, sorted by wave, then by ID.
func (b *planner) steps() []ordering.Step {
	steps := make([]ordering.Step, 0, len(b.Resources))
	barriers, outside := barrierCache{planner: b, of: map[barrierKey][]ordering.Barrier{}}, newExternalNeeds(b)
	ahead := newAhead(b)
	for _, i := range b.byWave() {
		r := b.Resources[i]
		s := ordering.Step{
			ID: r.ID, Source: r.Source, Wave: b.wave[i], Due: b.readyWave(int32(i)), Gate: b.gate[i], Timeout: b.kindTimeout(r),
			AfterHooks: b.afterHooks(i), FailsOpen: references.FailsOpen(r),
			External: outside.of(int32(i)), ProvidedBy: b.ProvidersOf(r), Why: b.why(int32(i)), After: barriers.before(int32(i)),
		}
		if l := b.LayerOf[i]; l >= 0 {
			s.Layer = b.Sets[b.placedBy(l)].Name
		}
		s.Layers = b.blockedLayers(int32(i))
		s.Needs = b.needsOf(int32(i))
		if s.ReadyBy = s.Due; s.Gate != ordering.Applied && !ReadyWhenApplied(s.ID) {
			s.ReadyBy = max(s.Due, ahead.of(int32(i)))
		}
		steps = append(steps, s)
	}
	return steps
}

// placedBy returns the set to name for a resource: within an application, the
// application.
func (b *planner) placedBy(s int) int {
	for at := s; at >= 0; at = b.Sets[at].Within {
		if b.Sets[at].Kind == ordering.Application {
			return at
		}
	}
	return s
}

// byWave returns the resources sorted by wave, then by ID.
func (b *planner) byWave() []int {
	order := make([]int, len(b.Resources))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(x, y int) int { return b.wave[x] - b.wave[y] })
	return order
}

// needsOf returns the resources that a resource waits for.
func (b *planner) needsOf(v int32) []ordering.Need {
	in := b.graph.In.Of(v)
	count := 0
	for _, i := range in {
		if b.IsResource(b.Kept[i].From) {
			count++
		}
	}
	if count == 0 {
		return nil
	}
	needs := make([]ordering.Need, 0, count)
	for _, i := range in {
		if b.IsResource(b.Kept[i].From) {
			needs = append(needs, b.need(b.Kept[i]))
		}
	}
	return needs
}

func (b *planner) need(e graph.Edge) ordering.Need {
	from, _ := b.ResourceOf(e.From)
	needed := b.Resources[from]
	return ordering.Need{ID: needed.ID, Gate: e.Gate, Why: e.Why, Hard: e.Strength == graph.Hard, Yields: e.Yields() && needed.Annotations[ordering.WaitAnnotation] != "ready"}
}

// blockedLayers returns the layers that wait for a resource, applied or ready.
func (b *planner) blockedLayers(v int32) []int {
	var layers []int
	for _, i := range b.outOf(v) {
		to := b.Kept[i].To
		if _, ok := b.ResourceOf(to); !ok && to == b.Exit(b.SetOf(to)) {
			layers = append(layers, b.SetOf(to))
		}
	}
	return layers
}

// outOf returns the edges from a resource, applied or ready, as indices into Kept.
func (b *planner) outOf(v int32) []int32 {
	edges := b.graph.Out.Of(v)
	if ready, ok := b.ReadyVertex[v]; ok {
		edges = slices.Concat(edges, b.graph.Out.Of(ready))
	}
	return edges
}

// readyWave returns the wave in which a resource becomes ready.
func (b *planner) readyWave(v int32) int {
	if ready, ok := b.ReadyVertex[v]; ok {
		return b.wave[ready]
	}
	return b.wave[v]
}

func (b *planner) kindTimeout(r ordering.Resource) time.Duration {
	for _, k := range b.Options.KindTimeouts {
		if k.Kind == r.Kind || k.Kind == r.GroupKind() {
			return k.Timeout
		}
	}
	return 0
}

// barrierCache computes the layers that resources wait for. Resources that wait
// for the same layers share a slice.
type barrierCache struct {
	*planner
	of map[barrierKey][]ordering.Barrier
}

// barrierKey determines the list in most cases: the set of the resource, or -1,
// and whether it waits for the prerequisites.
type barrierKey struct {
	set           int
	prerequisites bool
}

// before returns the layers that a resource waits for.
func (c *barrierCache) before(v int32) []ordering.Barrier {
	key := barrierKey{set: -1}
	var others []ordering.Barrier // not covered by the key
	for _, i := range c.graph.In.Of(v) {
		e := &c.Kept[i]
		if _, ok := c.ResourceOf(e.From); ok {
			continue
		}
		s := c.SetOf(e.From)
		switch isEntry := e.From == c.Entry(s); {
		case isEntry && key.set < 0:
			key.set = s
		case isEntry:
			others = append(others, c.barriersOf(s)...)
		case s == c.Prerequisites:
			key.prerequisites = true
		default:
			others = append(others, ordering.Barrier{Layer: s, Why: e.Why})
		}
	}
	shared, ok := c.of[key]
	if !ok {
		shared = c.list(key)
		c.of[key] = shared
	}
	if len(others) == 0 {
		return shared
	}
	return distinct(append(slices.Clone(shared), others...))
}

func (c *barrierCache) list(key barrierKey) []ordering.Barrier {
	var out []ordering.Barrier
	if key.set >= 0 {
		out = c.barriersOf(key.set)
	}
	if key.prerequisites {
		out = append(out, ordering.Barrier{Layer: c.Prerequisites, Why: edges.PrerequisitesReason()})
	}
	return distinct(out)
}

// barriersOf returns the layers that a set and the sets around it wait for.
func (c *barrierCache) barriersOf(s int) []ordering.Barrier {
	var out []ordering.Barrier
	for ; s >= 0; s = c.Sets[s].Within {
		out = append(out, c.Sets[s].After...)
	}
	return out
}

// distinct keeps the first barrier of each layer.
func distinct(barriers []ordering.Barrier) []ordering.Barrier {
	seen := map[int]bool{}
	return slices.DeleteFunc(barriers, func(b ordering.Barrier) bool {
		defer func() { seen[b.Layer] = true }()
		return seen[b.Layer]
	})
}

// layers converts the sets for the plan.
func (b *planner) layers() []ordering.Layer {
	var out []ordering.Layer
	for _, set := range b.Sets {
		out = append(out, ordering.Layer{Name: set.Name, Kind: set.Kind, Within: set.Within, Gate: set.Gate, After: set.After, Timeout: set.Timeout})
	}
	return out
}

// nameWaves names each wave after its layers, and sets its timeout to the
// longest of theirs.
func (b *planner) nameWaves(waves []ordering.Wave) {
	holds := make([][]int, len(waves))
	for i := range b.Resources {
		l := b.LayerOf[i]
		switch b.Placements[i] {
		case edges.Early:
			l = max(b.Prerequisites, b.LatePrerequisites) // both sets have the same name
		case edges.Unplaced:
			continue
		}
		if l >= 0 && !b.Floating[i] {
			holds[b.wave[i]] = append(holds[b.wave[i]], l)
		}
	}
	for w := range waves {
		slices.Sort(holds[w])
		var names []string
		for _, s := range slices.Compact(holds[w]) {
			if b.Sets[s].Kind == ordering.Prerequisites {
				names = append([]string{b.Sets[s].Short}, names...)
			} else {
				names = append(names, b.Sets[s].Short)
			}
			waves[w].Timeout = max(waves[w].Timeout, b.timeoutOf(s))
		}
		waves[w].Name = strings.Join(slices.Compact(names), ", ")
	}
}

// timeoutOf returns a set's timeout, or the first one of the sets around it.
func (b *planner) timeoutOf(s int) time.Duration {
	for ; s >= 0; s = b.Sets[s].Within {
		if b.Sets[s].Timeout > 0 {
			return b.Sets[s].Timeout
		}
	}
	return 0
}

// droppedEdges returns the inferred edges between resources that were dropped. One of
// strength Serves is not lost: the resource becomes ready after it.
func (b *planner) droppedEdges() []ordering.Dropped {
	var out []ordering.Dropped
	for _, c := range b.Dropped {
		if needer, ok := b.ResourceOf(c.Edge.To); ok && c.Edge.Strength != graph.DefaultPlace && c.Edge.Strength != graph.Serves {
			out = append(out, ordering.Dropped{ID: b.Resources[needer].ID, Need: b.need(c.Edge), Because: b.Describe(c.Path)})
		}
	}
	return out
}
