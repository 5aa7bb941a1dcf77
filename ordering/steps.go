package ordering

import (
	"slices"
	"strings"
	"time"
)

// steps makes the steps of the plan, by wave, then by ID.
func (b *builder) steps() []Step {
	steps := make([]Step, 0, len(b.resources))
	barriers, outside := barrierCache{builder: b, of: map[barrierKey][]Barrier{}}, newOutsiders(b)
	for _, i := range b.byWave() {
		r := b.resources[i]
		s := Step{
			ID: r.ID, Source: r.Source, Wave: b.wave[i], ReadyBy: b.readyWave(int32(i)), Gate: b.gate[i], Timeout: b.kindTimeout(r),
			External: outside.of(int32(i)), MadeBy: b.makersOf(r), Why: b.why(int32(i)), After: barriers.before(int32(i)),
		}
		if l := b.layerOf[i]; l >= 0 {
			s.Layer = b.sets[b.placedBy(l)].name
		}
		s.Layers = b.heldUp(int32(i))
		s.Needs = b.needsOf(int32(i))
		steps = append(steps, s)
	}
	return steps
}

// placedBy is the set that is named for a resource: of those within an application
// the application, which its stack knows.
func (d *declarations) placedBy(s int) int {
	for at := s; at >= 0; at = d.sets[at].within {
		if d.sets[at].kind == Application {
			return at
		}
	}
	return s
}

// byWave lists the resources by wave; within one they stay sorted by ID.
func (b *builder) byWave() []int {
	order := make([]int, len(b.resources))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(x, y int) int { return b.wave[x] - b.wave[y] })
	return order
}

// needsOf are the single resources that a resource waits for.
func (b *builder) needsOf(v int32) []Need {
	var needs []Need
	for _, i := range b.graph.in.of(v) {
		if _, ok := b.resourceOf(b.edges[i].from); ok {
			needs = append(needs, b.need(b.edges[i]))
		}
	}
	return needs
}

func (b *builder) need(e edge) Need {
	from, _ := b.resourceOf(e.from)
	return Need{ID: b.resources[from].ID, Gate: e.gate, Why: e.why, Hard: e.strength == hard}
}

// heldUp are the layers that wait for a resource, applied or ready.
func (b *builder) heldUp(v int32) []int {
	edges := b.graph.out.of(v)
	if ready, ok := b.readyVertex[v]; ok {
		edges = slices.Concat(edges, b.graph.out.of(ready))
	}
	var layers []int
	for _, i := range edges {
		to := b.edges[i].to
		if _, ok := b.resourceOf(to); !ok && to == b.exit(b.setOf(to)) {
			layers = append(layers, b.setOf(to))
		}
	}
	return layers
}

// readyWave is the wave in which a resource becomes ready.
func (b *builder) readyWave(v int32) int {
	if ready, ok := b.readyVertex[v]; ok {
		return b.wave[ready]
	}
	return b.wave[v]
}

func (b *builder) kindTimeout(r Resource) time.Duration {
	for _, k := range b.options.KindTimeouts {
		if k.Kind == r.Kind || k.Kind == r.GroupKind() {
			return k.Timeout
		}
	}
	return 0
}

// barrierCache makes the lists of layers that resources wait for, one for all
// resources that wait for the same.
type barrierCache struct {
	*builder
	of map[barrierKey][]Barrier
}

// barrierKey is what decides about most lists: the set that a resource is in,
// -1 for none, and whether it waits for the prerequisites.
type barrierKey struct {
	set           int
	prerequisites bool
}

// before lists the layers that a resource waits for.
func (c *barrierCache) before(v int32) []Barrier {
	key := barrierKey{set: -1}
	var others []Barrier // beyond the key
	for _, i := range c.graph.in.of(v) {
		e := &c.edges[i]
		if _, ok := c.resourceOf(e.from); ok {
			continue
		}
		s := c.setOf(e.from)
		switch isEntry := e.from == c.entry(s); {
		case isEntry && key.set < 0:
			key.set = s
		case isEntry:
			others = append(others, c.around(s)...)
		case s == c.prerequisites:
			key.prerequisites = true
		default:
			others = append(others, Barrier{s, e.why})
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

func (c *barrierCache) list(key barrierKey) []Barrier {
	var out []Barrier
	if key.set >= 0 {
		out = c.around(key.set)
	}
	if key.prerequisites {
		out = append(out, Barrier{c.prerequisites, goFirst()})
	}
	return distinct(out)
}

// around lists what a set waits for, and the sets around it.
func (c *barrierCache) around(s int) []Barrier {
	var out []Barrier
	for ; s >= 0; s = c.sets[s].within {
		out = append(out, c.sets[s].after...)
	}
	return out
}

// distinct keeps the first barrier of each layer.
func distinct(barriers []Barrier) []Barrier {
	seen := map[int]bool{}
	return slices.DeleteFunc(barriers, func(b Barrier) bool {
		defer func() { seen[b.Layer] = true }()
		return seen[b.Layer]
	})
}

// layers are the sets as the plan shows them.
func (b *builder) layers() []Layer {
	var out []Layer
	for _, set := range b.sets {
		out = append(out, Layer{Name: set.name, Kind: set.kind, Within: set.within, Gate: set.gate, After: set.after, Timeout: set.timeout})
	}
	return out
}

// nameWaves names each wave after what placed its resources, and gives it the
// longest timeout that one of its layers asked for.
func (b *builder) nameWaves(waves []Wave) {
	holds := make([][]int, len(waves))
	for i := range b.resources {
		l := b.layerOf[i]
		switch b.standing[i] {
		case early:
			l = max(b.prerequisites, b.latecomers) // both have one name
		case unplaced:
			continue
		}
		if l >= 0 && !b.floating[i] {
			holds[b.wave[i]] = append(holds[b.wave[i]], l)
		}
	}
	for w := range waves {
		slices.Sort(holds[w])
		var names []string
		for _, s := range slices.Compact(holds[w]) {
			if b.sets[s].kind == Prerequisites {
				names = append([]string{b.sets[s].short}, names...)
			} else {
				names = append(names, b.sets[s].short)
			}
			waves[w].Timeout = max(waves[w].Timeout, b.timeoutOf(s))
		}
		waves[w].Name = strings.Join(slices.Compact(names), ", ")
	}
}

// timeoutOf is a set's timeout, or that of the nearest set around it that has
// one.
func (d *declarations) timeoutOf(s int) time.Duration {
	for ; s >= 0; s = d.sets[s].within {
		if d.sets[s].timeout > 0 {
			return d.sets[s].timeout
		}
	}
	return 0
}
