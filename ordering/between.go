package ordering

// membersOf lists the resources of each set that place themselves there.
func (b *builder) membersOf() [][]int {
	members := make([][]int, len(b.sets))
	for i, l := range b.layerOf {
		if l >= 0 && !b.floating[i] {
			members[l] = append(members[l], i)
		}
	}
	return members
}

// road is a way along edges from a resource of one set to one of another, by
// its first and last edge: the same one when nothing lies between.
type road struct{ first, last *edge }

// roadsBetween finds, for each two sets that place resources, a way from one of
// the first to one of the second. It may lead through resources that no set
// places, and through kapp's change groups; not by way of a set that places, or
// that of the prerequisites: their order is what is looked into.
func (b *builder) roadsBetween() map[[2]int]road {
	between := map[[2]int]road{}
	g := newGraph(len(b.resources)+2*len(b.sets)+len(b.readyOf), b.edges)
	_, order := g.ranks()
	reach := make([]map[int]road, g.size) // of vertices between sets: ways from each set
	for _, v := range order {
		from := b.placedIn(v)
		if from == notBetween {
			continue
		}
		for _, i := range g.out.of(v) {
			e := &b.edges[i]
			arrive := func(s int, way road) {
				switch to := b.placedIn(e.to); {
				case to == notBetween || to == s:
				case to < 0:
					reach[e.to] = addRoad(reach[e.to], s, way)
				default:
					addRoad(between, [2]int{s, to}, way)
				}
			}
			if from >= 0 {
				arrive(from, road{e, e})
			}
			for s, way := range reach[v] {
				arrive(s, road{way.first, e})
			}
		}
	}
	return between
}

// addRoad keeps the first way to each place.
func addRoad[K comparable](roads map[K]road, at K, way road) map[K]road {
	if roads == nil {
		roads = map[K]road{}
	}
	if _, known := roads[at]; !known {
		roads[at] = way
	}
	return roads
}

// notBetween marks the vertices that no way between sets leads through.
const notBetween = -2

// placedIn is the set that places a vertex' resource; -1 when none does, and
// notBetween for the ends of sets that place.
func (b *builder) placedIn(v int32) int {
	r, ok := b.resourceOf(v)
	switch {
	case !ok && b.sets[b.setOf(v)].kind == ChangeGroup:
		return -1
	case !ok:
		return notBetween
	case b.floating[r]:
		return -1
	}
	return b.layerOf[r]
}
