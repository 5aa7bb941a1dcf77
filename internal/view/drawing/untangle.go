package drawing

import (
	"cmp"
	"iter"
	"slices"
)

// stack puts the nodes of each column on top of each other in their order, nodes with
// arrows first.
func (l *layout) stack() {
	for i := range l.nodes {
		c := &l.columns[l.nodes[i].column]
		c.nodes = append(c.nodes, i)
	}
	for _, c := range l.columns {
		slices.SortStableFunc(c.nodes, l.compareParts)
		l.restack(c.nodes)
	}
}

// compareParts keeps components together, with boxes without arrows below.
func (l *layout) compareParts(x, y int) int {
	a, b := l.nodes[x].part, l.nodes[y].part
	return cmp.Or(cmp.Compare(loose(a), loose(b)), cmp.Compare(a, b))
}

// loose returns 1 for boxes without arrows.
func loose(part int) int {
	if part == 0 {
		return 1
	}
	return 0
}

func (l *layout) restack(nodes []int) {
	y := float64(top)
	for _, i := range nodes {
		l.nodes[i].y = y
		y += l.nodes[i].height + gap
	}
}

// untangle sorts each column by the mean position of its nodes' neighbours,
// alternating from left to right and back, and keeps the order with the fewest
// crossings.
func (l *layout) untangle() {
	best, fewest := l.order(), l.crossings()
	for round := range 12 {
		for c, neighbours := range l.sweep(round) {
			nodes := l.columns[c].nodes
			wish := map[int]float64{}
			for _, i := range nodes {
				wish[i] = l.wish(i, neighbours)
			}
			slices.SortStableFunc(nodes, func(x, y int) int {
				return cmp.Or(l.compareParts(x, y), cmp.Compare(wish[x], wish[y]))
			})
			l.restack(nodes)
		}
		if n := l.crossings(); n < fewest {
			best, fewest = l.order(), n
		}
	}
	for c := range l.columns {
		l.columns[c].nodes = best[c]
		l.restack(best[c])
	}
}

// sweep yields the columns from left to right with their incoming neighbours
// or, in odd rounds, from right to left with their outgoing ones.
func (l *layout) sweep(round int) iter.Seq2[int, [][]int] {
	return func(yield func(int, [][]int) bool) {
		for at := range l.columns {
			c, neighbours := at, l.in
			if round%2 == 1 {
				c, neighbours = len(l.columns)-1-at, l.out
			}
			if !yield(c, neighbours) {
				return
			}
		}
	}
}

// wish returns the preferred height of a node: the mean of its neighbours', or
// its own.
func (l *layout) wish(i int, neighbours [][]int) float64 {
	if len(neighbours[i]) == 0 {
		return l.nodes[i].middle()
	}
	sum := 0.0
	for _, n := range neighbours[i] {
		sum += l.nodes[n].middle()
	}
	return sum / float64(len(neighbours[i]))
}

func (l *layout) order() [][]int {
	out := make([][]int, len(l.columns))
	for c, column := range l.columns {
		out[c] = slices.Clone(column.nodes)
	}
	return out
}

// crossings counts crossing lines between adjacent columns.
func (l *layout) crossings() int {
	total := 0
	for _, column := range l.columns {
		type line struct{ from, to float64 }
		var lines []line
		for _, i := range column.nodes {
			for _, to := range l.out[i] {
				lines = append(lines, line{l.nodes[i].y, l.nodes[to].y})
			}
		}
		for i, a := range lines {
			for _, b := range lines[:i] {
				if (a.from-b.from)*(a.to-b.to) < 0 {
					total++
				}
			}
		}
	}
	return total
}
