package ordering

import "slices"

// CRDs, Namespaces and what the options name go first, unless their author
// placed them: an operator needs its CRDs though nothing in its manifest says
// so. A prerequisite that needs something else, such as an Issuer whose webhook
// must serve, or a CRD that its author puts behind its operator, comes later:
// then it holds up only what may run, and not what it needs itself. The other
// prerequisites go out before all, it and what it needs included.

// placePrerequisites puts CRDs, Namespaces and what the options name into a set
// of their own that everything waits for, unless their author placed them.
func (d *declarations) placePrerequisites() {
	d.prerequisites = -1
	if d.options.NoPrerequisites {
		return
	}
	for i, r := range d.resources {
		if d.standing[i] == placed || !d.isPrerequisite(r) {
			continue
		}
		if d.prerequisites < 0 {
			d.prerequisites = d.addSet(set{name: "prerequisites", short: "prerequisites", kind: Prerequisites, within: -1})
		}
		d.standing[i] = early
		d.join(i, d.prerequisites, absent, hard)
	}
}

func (d *declarations) isPrerequisite(r Resource) bool {
	if isCRD(r.ID) || isNamespace(r.ID) {
		return true
	}
	for _, kind := range d.options.PrerequisiteKinds {
		if kind == r.Kind || kind == r.GroupKind() {
			return true
		}
	}
	return false
}

// splitPrerequisites takes those prerequisites that need others out of the
// first set and makes a second one of them.
func (b *builder) splitPrerequisites(soft []edge) {
	b.latecomers = -1
	if b.prerequisites < 0 {
		return
	}
	late := b.behindOthers(b.edgesToPrerequisites(soft))
	isLate := func(m membership) bool { return m.set == b.prerequisites && late[m.resource] }
	isFirst := func(m membership) bool { return m.set == b.prerequisites && !late[m.resource] }
	switch {
	case !slices.ContainsFunc(b.members, isLate):
		return
	case !slices.ContainsFunc(b.members, isFirst):
		b.prerequisites, b.latecomers = -1, b.prerequisites
		return
	}
	b.latecomers = b.addSet(set{name: "prerequisites that need others", short: "prerequisites", kind: Prerequisites, within: -1})
	for i := range b.members {
		if isLate(b.members[i]) {
			b.members[i].set = b.latecomers
		}
	}
}

// edgesToPrerequisites are the edges that lead to prerequisites, and those of
// the change groups, by which they may be led to.
func (b *builder) edgesToPrerequisites(soft []edge) []edge {
	var out []edge
	for _, edges := range [][]edge{b.declarations.edges, b.setEdges(), soft} {
		for _, e := range edges {
			if int(e.to) < len(b.resources) && b.standing[e.to] == early || int(e.to) >= len(b.resources) && b.sets[b.setOf(e.to)].kind == ChangeGroup {
				out = append(out, e)
			}
		}
	}
	return out
}

// behindOthers tells of each vertex whether it waits for a resource that is no
// prerequisite.
func (b *builder) behindOthers(edges []edge) []bool {
	behind := make([]bool, len(b.resources)+2*len(b.sets))
	if len(edges) == 0 {
		return behind
	}
	g := newGraph(len(behind), edges)
	var road []int32
	for i := range b.resources {
		if b.standing[i] != early {
			road = append(road, int32(i))
		}
	}
	for next := 0; next < len(road); next++ {
		for _, i := range g.out.of(road[next]) {
			if to := edges[i].to; !behind[to] {
				behind[to] = true
				road = append(road, to)
			}
		}
	}
	return behind
}

// prerequisiteEdges let everything wait for the prerequisites.
func (b *builder) prerequisiteEdges() []edge {
	var edges []edge
	for _, s := range []int{b.prerequisites, b.latecomers} {
		if s < 0 {
			continue
		}
		for i, r := range b.resources {
			if b.standing[i] == early || s == b.latecomers && inertKind(r.ID.GroupKind()) {
				continue
			}
			edges = append(edges, edge{from: b.exit(s), to: int32(i), weight: 1, strength: place, why: goFirst()})
		}
	}
	return edges
}

func goFirst() Reason {
	return Reason{Rule: "prerequisites", Detail: "CRDs and Namespaces go first"}
}
