package graph

import "slices"

// search follows the edges of a graph that are in force.
type search struct {
	*Graph
	inForce []bool // per edge
	visited int    // edges visited so far
}

// declared reports whether the author declared the edge and it is in force.
func (s *search) declared(i int32) bool { return s.inForce[i] && s.edges[i].Strength == Hard }

// direction is a way to follow edges.
type direction struct {
	edges adjacency
	end   func(*Edge) int32
}

func (s *search) forward() direction {
	return direction{s.Out, func(e *Edge) int32 { return e.To }}
}

func (s *search) backward() direction {
	return direction{s.In, func(e *Edge) int32 { return e.From }}
}

// reach returns the vertices reachable from start by the edges that follow accepts,
// nearest first, and the edge by which each was reached.
func (s *search) reach(start int32, d direction, follow func(edge, to int32) bool) (found []int32, by map[int32]int32) {
	by = map[int32]int32{start: -1}
	found = []int32{start}
	for next := 0; next < len(found); next++ {
		for _, i := range d.edges.Of(found[next]) {
			s.visited++
			to := d.end(&s.edges[i])
			if _, seen := by[to]; !seen && follow(i, to) {
				by[to] = i
				found = append(found, to)
			}
		}
	}
	return found, by
}

// path returns the path to a vertex that was reached from another one.
func (s *search) path(from, to int32, by map[int32]int32) []Edge {
	var path []Edge
	for v := to; v != from; v = path[len(path)-1].From {
		path = append(path, s.edges[by[v]])
	}
	slices.Reverse(path)
	return path
}

// pathBack returns the path from a vertex that a backward search reached to the
// vertex at which the search started.
func (s *search) pathBack(from, start int32, by map[int32]int32) []Edge {
	var path []Edge
	for v := from; v != start; v = s.edges[by[v]].To {
		path = append(path, s.edges[by[v]])
	}
	return path
}
