package svg

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
	for i := range l.nodes {
		l.height = max(l.height, l.nodes[i].y+l.nodes[i].height)
	}
	l.height += padding + margin
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

// place assigns columns and waves their positions and widths.
func (l *layout) place() {
	l.waves = make([]span, len(l.drawing.Waves))
	x := float64(margin)
	for c := range l.columns {
		column := &l.columns[c]
		wave := &l.waves[column.wave]
		if c == 0 || l.columns[c-1].wave != column.wave {
			x += waveGap / 2
			wave.left = x
			x += padding
		}
		column.span = span{x, x}
		for _, i := range column.nodes {
			l.nodes[i].x = x
			column.right = max(column.right, x+l.nodes[i].width)
		}
		x = column.right
		if c+1 == len(l.columns) || l.columns[c+1].wave != column.wave {
			title := textWidth(l.drawing.Waves[column.wave].Title, fontSize, true)
			wave.right = max(x, wave.left+title) + padding
			x = wave.right + waveGap/2
		}
		x += columnGap
	}
	l.width = max(x-columnGap, margin+textWidth(l.drawing.Title+legend, titleSize, false)) + margin
}
