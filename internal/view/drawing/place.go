package drawing

import (
	"math"
	"slices"
)

// top is the position of the first box of a column.
const top = titleSpace + padding

// align moves nodes towards the height of their neighbours where there is room,
// without changing the order of a column.
func (l *layout) align() {
	for round := range 8 {
		for c, neighbours := range l.sweep(round) {
			l.settle(l.columns[c].nodes, neighbours)
		}
	}
}

// settle moves each node of a column to its preferred height as far as the
// others permit. Boxes without arrows follow below.
func (l *layout) settle(nodes []int, neighbours [][]int) {
	floor := math.Inf(1)
	for _, i := range slices.Backward(nodes) {
		n := &l.nodes[i]
		if n.part == 0 {
			continue
		}
		n.y = max(top, min(l.wish(i, neighbours)-n.height/2, floor-gap-n.height))
		floor = n.y
	}
	above := float64(top)
	for _, i := range nodes {
		n := &l.nodes[i]
		if n.y = max(n.y, above); n.part == 0 {
			n.y = above
		}
		above = n.y + n.height + gap
	}
}
