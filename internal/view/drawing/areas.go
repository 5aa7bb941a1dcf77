package drawing

// area is the background of a wave.
type area struct {
	wave int
	span
}

// place assigns columns and waves their positions and sizes.
func (l *layout) place() {
	x := float64(margin)
	for c := range l.columns {
		column := &l.columns[c]
		if c == 0 || l.columns[c-1].wave != column.wave {
			x += waveGap / 2
			l.areas = append(l.areas, area{wave: column.wave, span: span{left: x}})
			x += padding
		}
		column.span = span{x, x + l.columnWidth(c)}
		for _, i := range column.nodes {
			l.nodes[i].x = x
		}
		x = column.right
		if c+1 == len(l.columns) || l.columns[c+1].wave != column.wave {
			x = l.closeArea(c) + waveGap/2
		}
		x += columnGap
	}
	l.width = max(x-columnGap+margin, 2*margin+textWidth(l.drawing.Title+legend, titleSize, false))
	l.bottom = top
	for i := range l.nodes {
		l.bottom = max(l.bottom, l.nodes[i].y+l.nodes[i].height)
	}
	l.bottom += padding
	l.height = l.bottom + margin
}

func (l *layout) columnWidth(c int) float64 {
	width := 0.0
	for _, i := range l.columns[c].nodes {
		width = max(width, l.nodes[i].width)
	}
	return width
}

// closeArea ends the last area after a column and returns its right side.
func (l *layout) closeArea(c int) float64 {
	a := &l.areas[len(l.areas)-1]
	wave := l.drawing.Waves[a.wave]
	a.right = max(l.columns[c].right, a.left+textWidth(wave.Title, fontSize, true), a.left+textWidth(wave.Gate, fontSize, false)) + padding
	return a.right
}
