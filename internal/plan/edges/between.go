package edges

import (
	"github.com/ordapply/ordapply/internal/plan/graph"
	"github.com/ordapply/ordapply/ordering"
)

// MembersOf returns the resources that each set places.
func (b *Dependencies) MembersOf() [][]int {
	members := make([][]int, len(b.Sets))
	for i, l := range b.LayerOf {
		if l >= 0 && !b.Floating[i] {
			members[l] = append(members[l], i)
		}
	}
	return members
}

// PathEnds is a path along edges from a resource of one set to a resource of
// another. It keeps the first and the last edge, which are the same edge if
// nothing lies between.
type PathEnds struct{ First, Last *graph.Edge }

// PathsBetween finds, for each pair of sets that place resources, a path from
// the first to the second. Paths may lead through resources that no set places
// and through kapp's change groups. They do not lead through another placing
// set or the set of prerequisites, because the caller examines their order.
func (b *Dependencies) PathsBetween() map[[2]int]PathEnds {
	between := map[[2]int]PathEnds{}
	g := b.Graph()
	_, order := g.Ranks()
	reach := make([]map[int]PathEnds, g.Size) // per vertex between sets: a path from each set
	for _, v := range order {
		from := b.placedIn(v)
		if from == notBetween {
			continue
		}
		for _, i := range g.Out.Of(v) {
			e := &b.Kept[i]
			arrive := func(s int, way PathEnds) {
				switch to := b.placedIn(e.To); {
				case to == notBetween || to == s:
				case to < 0:
					reach[e.To] = addPath(reach[e.To], s, way)
				default:
					addPath(between, [2]int{s, to}, way)
				}
			}
			if from >= 0 {
				arrive(from, PathEnds{e, e})
			}
			for s, way := range reach[v] {
				arrive(s, PathEnds{way.First, e})
			}
		}
	}
	return between
}

// addPath keeps the first path to each key.
func addPath[K comparable](roads map[K]PathEnds, at K, way PathEnds) map[K]PathEnds {
	if roads == nil {
		roads = map[K]PathEnds{}
	}
	if _, known := roads[at]; !known {
		roads[at] = way
	}
	return roads
}

// notBetween marks the vertices that no path between sets may cross.
const notBetween = -2

// placedIn returns the set that places a vertex's resource, -1 if none does, or
// notBetween for the entry or exit of a placing set.
func (b *Dependencies) placedIn(v int32) int {
	r, ok := b.ResourceOf(v)
	switch {
	case !ok && b.Sets[b.SetOf(v)].Kind == ordering.ChangeGroup:
		return -1
	case !ok:
		return notBetween
	case b.Floating[r]:
		return -1
	}
	return b.LayerOf[r]
}
