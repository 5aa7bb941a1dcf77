package graph

// declaredPaths finds paths of declared edges between vertices. Many references
// between the same two layers ask for the same path, so it caches which sets
// are reachable from the exit of a layer.
type declaredPaths struct {
	*search
	isSetVertex func(v int32) bool
	reached     map[int32]map[int32]bool // set vertices reached from a set vertex
	between     map[[2]int32][]Edge      // paths between two set vertices
}

// maxNearby limits the edges visited around a resource to find its sets. A
// resource with more declared edges is left to the full search.
const maxNearby = 64

func newDeclaredPaths(s *search, isSetVertex func(v int32) bool) *declaredPaths {
	return &declaredPaths{search: s, isSetVertex: isSetVertex, reached: map[int32]map[int32]bool{}, between: map[[2]int32][]Edge{}}
}

// find returns a path of declared edges through layers. It returns nil if there
// is none, or if no set is near enough to both ends.
func (d *declaredPaths) find(from, to int32) []Edge {
	exits, after := d.nearbySets(from, d.forward())
	if len(exits) == 0 {
		return nil
	}
	entries, before := d.nearbySets(to, d.backward())
	for _, exit := range exits {
		for _, entry := range entries {
			if d.reaches(exit, entry) {
				path := append(d.path(from, exit, after), d.pathBetween(exit, entry)...)
				return append(path, d.pathBack(entry, to, before)...)
			}
		}
	}
	return nil
}

// nearbySets returns the first set vertices reachable from start by declared
// edges, nearest first, and the edge by which each vertex was reached.
func (d *declaredPaths) nearbySets(start int32, way direction) (sets []int32, by map[int32]int32) {
	by = map[int32]int32{start: -1}
	found := []int32{start}
	for next, looked := 0, 0; next < len(found); next++ {
		if d.isSetVertex(found[next]) {
			sets = append(sets, found[next])
			continue
		}
		for _, i := range way.edges.Of(found[next]) {
			if looked++; looked > maxNearby {
				return sets, by
			}
			d.visited++
			to := way.end(&d.edges[i])
			if _, seen := by[to]; !seen && d.declared(i) {
				by[to] = i
				found = append(found, to)
			}
		}
	}
	return sets, by
}

func (d *declaredPaths) reaches(from, to int32) bool {
	if d.reached[from] == nil {
		sets := map[int32]bool{}
		found, _ := d.reach(from, d.forward(), d.followDeclared)
		for _, v := range found {
			if d.isSetVertex(v) {
				sets[v] = true
			}
		}
		d.reached[from] = sets
	}
	return d.reached[from][to]
}

func (d *declaredPaths) pathBetween(from, to int32) []Edge {
	ends := [2]int32{from, to}
	path, known := d.between[ends]
	if !known {
		_, by := d.reach(from, d.forward(), d.followDeclared)
		path = d.path(from, to, by)
		d.between[ends] = path
	}
	return path
}

func (d *declaredPaths) followDeclared(edge, _ int32) bool { return d.declared(edge) }
