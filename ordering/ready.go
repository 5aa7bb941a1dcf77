package ordering

import "slices"

// A resource may have to go out before something that it needs to become
// ready. Then "it is applied" and "it is ready" are two events with other
// things between them, and the graph has a vertex for each: edges that wait
// until it is ready start from the second, which what it needs leads to. If
// that closes a circle, a gate waits for something behind it and would never
// open.

// resolveEdges finds out which edges hold.
func (b *builder) resolveEdges(edges []edge) resolution {
	size := len(b.resources) + 2*len(b.sets)
	out := resolve(size, edges, b.isSetVertex)
	early := slices.ContainsFunc(out.dropped, func(c contradiction) bool { return c.edge.strength == required })
	if early && len(out.cycles) == 0 {
		size, edges = b.splitReadiness(edges, size)
		split := resolve(size, edges, b.isSetVertex)
		split.searched += out.searched
		return split
	}
	return out
}

// splitReadiness gives every resource that needs others to become ready a
// vertex for being so, and sends the edges there.
func (b *builder) splitReadiness(edges []edge, size int) (int, []edge) {
	b.readyVertex, b.readyOf = map[int32]int32{}, map[int32]int32{}
	var out []edge
	for _, e := range edges {
		if e.strength == required && b.readyVertex[e.to] == 0 {
			v := int32(size + len(b.readyVertex))
			b.readyVertex[e.to], b.readyOf[v] = v, e.to
			out = append(out, edge{from: e.to, to: v, gate: Applied, strength: hard, why: Reason{Rule: "readiness", Detail: "ready only when applied"}})
		}
	}
	for _, e := range edges {
		if v, ok := b.readyVertex[e.from]; ok && e.gate == Ready {
			e.from = v
		}
		out = append(out, e)
		if e.strength == required {
			e.to, e.strength, e.weight = b.readyVertex[e.to], certain, 0 // both become ready in one wave
			out = append(out, e)
		}
	}
	return size + len(b.readyOf), out
}

// resourceOf is the resource that a vertex stands for, applied or ready; ok is
// false for those of sets.
func (b *builder) resourceOf(v int32) (resource int32, ok bool) {
	if r, ok := b.readyOf[v]; ok {
		return r, true
	}
	return v, int(v) < len(b.resources)
}

// bound lets nobody wait until a claim is bound that may bind on first use: the
// Pods that use it become ready only when it is. (A StorageClass of the stream
// may say that its claims bind at once.)
func (b *builder) bound(edges []edge) {
	for i := range edges {
		e := &edges[i]
		if int(e.from) >= len(b.resources) || e.gate != Ready || !isClaim(b.resources[e.from].ID) || !b.bindsOnUse(b.resources[e.from]) {
			continue
		}
		e.gate = Applied
		if int(e.to) < len(b.resources) {
			e.weight = 0
			b.notes = append(b.notes, b.resources[e.to].ID.String()+" waits only until "+b.resources[e.from].ID.String()+" is applied ("+e.why.String()+"): the claim may bind when a Pod first uses it, and not before")
		}
	}
}

// gates says of each resource what its wave, or the later one in which it
// becomes ready, waits for.
func (b *builder) gates() {
	b.gate = make([]Gate, len(b.resources))
	for i, r := range b.resources {
		if isClaim(r.ID) && b.bindsOnUse(r) {
			b.gate[i] = Applied
		}
	}
	for _, m := range b.members {
		if b.sets[m.set].gate == Applied && m.out != absent {
			b.gate[m.resource] = Applied
		}
	}
}
