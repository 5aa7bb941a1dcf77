package ordering

// declaredRoads answers whether declared edges lead from one vertex to another.
// Many references between the same two layers ask the same question, so what
// can be reached from the end of a layer is searched once and kept.
type declaredRoads struct {
	*resolver
	isSetVertex func(v int32) bool
	reached     map[int32]map[int32]bool // set vertices reached from a set vertex
	between     map[[2]int32][]edge      // roads between two set vertices
}

// maxNearby bounds the edges looked at around a resource for the sets it is
// in. A resource with more declared edges is left to the full search.
const maxNearby = 64

func newDeclaredRoads(r *resolver, isSetVertex func(v int32) bool) *declaredRoads {
	return &declaredRoads{resolver: r, isSetVertex: isSetVertex, reached: map[int32]map[int32]bool{}, between: map[[2]int32][]edge{}}
}

// find gives a road of declared edges through layers; nil when there is none,
// or none was found close enough to both ends.
func (d *declaredRoads) find(from, to int32) []edge {
	exits, after := d.nearbySets(from, d.out, edgeTo)
	if len(exits) == 0 {
		return nil
	}
	entries, before := d.nearbySets(to, d.in, edgeFrom)
	for _, exit := range exits {
		for _, entry := range entries {
			if d.reaches(exit, entry) {
				road := append(d.road(from, exit, after), d.roadBetween(exit, entry)...)
				return append(road, d.roadBack(entry, to, before)...)
			}
		}
	}
	return nil
}

// nearbySets lists the first set vertices that declared edges lead to from a
// start, nearest first, and by which edge each vertex was found.
func (d *declaredRoads) nearbySets(start int32, edges adjacency, end func(*edge) int32) (sets []int32, came map[int32]int32) {
	came = map[int32]int32{start: -1}
	found := []int32{start}
	for next, looked := 0, 0; next < len(found); next++ {
		if d.isSetVertex(found[next]) {
			sets = append(sets, found[next])
			continue
		}
		for _, i := range edges.of(found[next]) {
			if looked++; looked > maxNearby {
				return sets, came
			}
			d.searched++
			to := end(&d.edges[i])
			if _, seen := came[to]; seen || !d.declared(i) {
				continue
			}
			came[to] = i
			found = append(found, to)
		}
	}
	return sets, came
}

// declared reports whether the edge is the author's and within the circle.
func (d *declaredRoads) declared(i int32) bool {
	return d.inForce[i] && d.edges[i].strength == hard
}

func (d *declaredRoads) reaches(from, to int32) bool {
	if d.reached[from] == nil {
		came := d.search(from, -1)
		sets := map[int32]bool{}
		for v := range came {
			if d.isSetVertex(v) {
				sets[v] = true
			}
		}
		d.reached[from] = sets
	}
	return d.reached[from][to]
}

func (d *declaredRoads) roadBetween(from, to int32) []edge {
	ends := [2]int32{from, to}
	road, known := d.between[ends]
	if !known {
		came := d.search(from, to)
		road = d.road(from, to, came)
		d.between[ends] = road
	}
	return road
}

// search follows declared edges, breadth first, until it finds a vertex; -1
// finds all.
func (d *declaredRoads) search(from, until int32) map[int32]int32 {
	came := map[int32]int32{from: -1}
	found := []int32{from}
	for next := 0; next < len(found) && found[next] != until; next++ {
		for _, i := range d.out.of(found[next]) {
			d.searched++
			to := d.edges[i].to
			if _, seen := came[to]; !seen && d.declared(i) {
				came[to] = i
				found = append(found, to)
			}
		}
	}
	return came
}

// roadBack is the road from a vertex that a search against the edges found to
// the one that it started from.
func (d *declaredRoads) roadBack(from, start int32, came map[int32]int32) []edge {
	var road []edge
	for v := from; v != start; v = d.edges[came[v]].to {
		road = append(road, d.edges[came[v]])
	}
	return road
}

func edgeTo(e *edge) int32   { return e.to }
func edgeFrom(e *edge) int32 { return e.from }
