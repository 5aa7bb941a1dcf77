package ordering

import "slices"

// A resource may have to be applied before something that it needs to become
// ready. Then "applied" and "ready" are two events with others between them,
// and the graph has a vertex for each: edges with gate Ready start at the
// second, and edges from what the resource needs end there. A cycle through it
// means that a gate waits for something behind the gate and never opens.

// resolveEdges decides which edges are kept.
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

// splitReadiness adds a ready vertex for every resource that needs others to
// become ready, and redirects edges to it.
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
			e.to, e.strength, e.weight = b.readyVertex[e.to], certain, 0 // both become ready in the same wave
			out = append(out, e)
		}
	}
	return size + len(b.readyOf), out
}

// resourceOf returns the resource of a vertex, applied or ready; ok is false
// for vertices of sets.
func (b *builder) resourceOf(v int32) (resource int32, ok bool) {
	if r, ok := b.readyOf[v]; ok {
		return r, true
	}
	return v, int(v) < len(b.resources)
}

// relaxClaims relaxes edges that wait for a PersistentVolumeClaim to be bound: the
// claim may bind only when a Pod uses it, so dependents wait until it is
// applied. Claims of a StorageClass in the stream that binds immediately are
// unaffected.
func (b *builder) relaxClaims(edges []edge) {
	for i := range edges {
		e := &edges[i]
		if int(e.from) >= len(b.resources) || e.gate != Ready || !isClaim(b.resources[e.from].ID) || !b.bindsOnUse(b.resources[e.from]) {
			continue
		}
		e.gate = Applied
		if int(e.to) < len(b.resources) {
			e.weight = 0
			b.notes = append(b.notes, b.resources[e.to].ID.String()+" waits only until "+b.resources[e.from].ID.String()+" is applied ("+e.why.String()+"): the claim may not bind before a Pod uses it")
		}
	}
}

// gates sets what a resource's wave waits for: Applied for claims that may bind
// on first use and for members of layers with that gate, else Ready.
func (b *builder) gates() {
	b.gate = make([]Gate, len(b.resources))
	for i, r := range b.resources {
		if isClaim(r.ID) && b.bindsOnUse(r) {
			b.gate[i] = Applied
		}
	}
	for _, m := range b.members {
		if b.sets[m.set].gate == Applied && m.out != noEdge {
			b.gate[m.resource] = Applied
		}
	}
}
