package drawing

import (
	"cmp"
	"slices"
)

// layout holds the positions of everything. Each wave has as many columns as
// its longest chain of boxes; an arrow across several columns has a passage, a node without
// a box, in each column between. Connected boxes are drawn together, boxes without arrows
// below them.
type layout struct {
	drawing  *Drawing
	nodes    []node   // the boxes, then the passages
	columns  []column // from the left
	areas    []area   // of waves, in order
	passages [][]int  // nodes, by arrow
	out, in  [][]int  // neighbours in the next and the previous column, by node
	width    float64
	height   float64
	bottom   float64 // of the waves
}

type node struct {
	column              int
	part                int // number of its connected component; 0 without arrows
	x, y, width, height float64
}

func (n *node) middle() float64 { return n.y + n.height/2 }

type column struct {
	wave  int
	nodes []int // from the top
	span
}

// span is a horizontal range.
type span struct{ left, right float64 }

// tallest is the maximum height of a stack of boxes without arrows before the
// next stack starts.
const tallest = 900

// findParts numbers the connected components: by the wave in which they start, then larger
// ones first.
func (l *layout) findParts() {
	near := make([][]int, len(l.nodes))
	for _, a := range l.drawing.Arrows {
		near[a.From] = append(near[a.From], a.To)
		near[a.To] = append(near[a.To], a.From)
	}
	var parts [][]int
	seen := make([]bool, len(l.nodes))
	for i := range l.nodes {
		if seen[i] || len(near[i]) == 0 {
			continue
		}
		seen[i] = true
		part := []int{i}
		for next := 0; next < len(part); next++ {
			for _, n := range near[part[next]] {
				if !seen[n] {
					seen[n] = true
					part = append(part, n)
				}
			}
		}
		parts = append(parts, part)
	}
	begin := func(part []int) int { // boxes are sorted by wave
		return l.drawing.Boxes[slices.Min(part)].Wave
	}
	slices.SortStableFunc(parts, func(a, b []int) int {
		return cmp.Or(cmp.Compare(begin(a), begin(b)), cmp.Compare(len(b), len(a)))
	})
	for p, part := range parts {
		for _, i := range part {
			l.nodes[i].part = p + 1
		}
	}
}

// assignColumns assigns each box a column of its wave, after the boxes of that
// wave that it needs. Boxes without arrows fill columns as they fit.
func (l *layout) assignColumns() {
	d := l.drawing
	depth := make([]int, len(d.Boxes))
	for range d.Boxes { // the length of the longest chain is an upper bound
		changed := false
		for _, a := range d.Arrows {
			if d.Boxes[a.From].Wave == d.Boxes[a.To].Wave && depth[a.To] <= depth[a.From] {
				depth[a.To], changed = depth[a.From]+1, true
			}
		}
		if !changed {
			break
		}
	}
	for w, wave := range d.Waves {
		first, columns := len(l.columns), 1
		for _, b := range wave.Boxes {
			columns = max(columns, depth[b]+1)
		}
		columns = l.stackLoose(wave.Boxes, depth, columns)
		for _, b := range wave.Boxes {
			l.nodes[b].column = first + depth[b]
		}
		for range columns {
			l.columns = append(l.columns, column{wave: w})
		}
	}
}

// stackLoose distributes a wave's boxes without arrows over its columns, lowest
// column first, and adds columns when all are full.
func (l *layout) stackLoose(boxes []int, depth []int, columns int) int {
	heights := make([]float64, columns)
	for _, b := range boxes {
		if l.nodes[b].part > 0 {
			heights[depth[b]] += l.nodes[b].height + gap
		}
	}
	for _, b := range boxes {
		if l.nodes[b].part > 0 {
			continue
		}
		lowest := slices.Index(heights, slices.Min(heights))
		if heights[lowest] > tallest {
			heights = append(heights, 0)
			lowest = len(heights) - 1
		}
		depth[b] = lowest
		heights[lowest] += l.nodes[b].height + gap
	}
	return len(heights)
}

// addPassages splits long arrows into segments of one column each.
func (l *layout) addPassages() {
	for a, arrow := range l.drawing.Arrows {
		for c := l.nodes[arrow.From].column + 1; c < l.nodes[arrow.To].column; c++ {
			l.nodes = append(l.nodes, node{column: c, part: l.nodes[arrow.From].part, height: 3})
			l.passages[a] = append(l.passages[a], len(l.nodes)-1)
		}
	}
	l.out, l.in = make([][]int, len(l.nodes)), make([][]int, len(l.nodes))
	for a, arrow := range l.drawing.Arrows {
		steps := slices.Concat([]int{arrow.From}, l.passages[a], []int{arrow.To})
		for i := 1; i < len(steps); i++ {
			l.out[steps[i-1]] = append(l.out[steps[i-1]], steps[i])
			l.in[steps[i]] = append(l.in[steps[i]], steps[i-1])
		}
	}
}
