package ordering

// declaredPaths finds paths of declared edges between vertices. Many references
// between the same two layers ask for the same path, so it caches which sets
// are reachable from the exit of a layer.
type declaredPaths struct {
	*resolver
	isSetVertex func(v int32) bool
	reached     map[int32]map[int32]bool // set vertices reached from a set vertex
	between     map[[2]int32][]edge      // paths between two set vertices
}

// maxNearby limits the edges visited around a resource to find its sets. A
// resource with more declared edges is left to the full search.
const maxNearby = 64

func newDeclaredPaths(r *resolver, isSetVertex func(v int32) bool) *declaredPaths {
	return &declaredPaths{resolver: r, isSetVertex: isSetVertex, reached: map[int32]map[int32]bool{}, between: map[[2]int32][]edge{}}
}

// find returns a path of declared edges through layers. It returns nil if there
// is none, or if no set is near enough to both ends.
func (d *declaredPaths) find(from, to int32) []edge {
	exits, after := d.nearbySets(from, d.out, edgeTo)
	if len(exits) == 0 {
		return nil
	}
	entries, before := d.nearbySets(to, d.in, edgeFrom)
	for _, exit := range exits {
		for _, entry := range entries {
			if d.reaches(exit, entry) {
				road := append(d.path(from, exit, after), d.pathBetween(exit, entry)...)
				return append(road, d.pathBack(entry, to, before)...)
			}
		}
	}
	return nil
}

// nearbySets returns the first set vertices reachable from start by declared
// edges, nearest first, and the edge by which each vertex was reached.
func (d *declaredPaths) nearbySets(start int32, edges adjacency, end func(*edge) int32) (sets []int32, came map[int32]int32) {
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

// declared reports whether the author declared the edge and it is in force.
func (d *declaredPaths) declared(i int32) bool {
	return d.inForce[i] && d.edges[i].strength == hard
}

func (d *declaredPaths) reaches(from, to int32) bool {
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

func (d *declaredPaths) pathBetween(from, to int32) []edge {
	ends := [2]int32{from, to}
	road, known := d.between[ends]
	if !known {
		came := d.search(from, to)
		road = d.path(from, to, came)
		d.between[ends] = road
	}
	return road
}

// search follows declared edges breadth first until it reaches a vertex; -1
// visits all. It returns the edge by which each vertex was reached.
func (d *declaredPaths) search(from, until int32) map[int32]int32 {
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

// pathBack returns the path from a vertex that a backward search reached to the
// vertex at which the search started.
func (d *declaredPaths) pathBack(from, start int32, came map[int32]int32) []edge {
	var road []edge
	for v := from; v != start; v = d.edges[came[v]].to {
		road = append(road, d.edges[came[v]])
	}
	return road
}

func edgeTo(e *edge) int32   { return e.to }
func edgeFrom(e *edge) int32 { return e.from }
