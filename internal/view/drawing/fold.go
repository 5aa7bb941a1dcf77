package drawing

import (
	"fmt"
	"slices"
)

// A picture that is wider than tooWide is folded to about the width of a page.
const (
	tooWide   = 1500
	pageWidth = 1200
)

// Arrows from one band to the next run around it, each on a track.
const (
	tracks     = 8
	trackWidth = 5
	gutter     = tracks*trackWidth + 6
)

// band is a row of columns.
type band struct {
	span
	shift  float64 // of its boxes, from the top of the first band
	bottom float64
}

// area is the background of a wave, or of its part in one band.
type area struct {
	wave, band int
	continued  bool // the wave began in the band before
	span
}

// place assigns columns, waves and bands their positions and sizes.
func (l *layout) place() {
	l.layOut(margin, 0)
	if l.width > tooWide {
		l.layOut(margin+gutter, pageWidth-margin-gutter)
		l.alignBands()
		for b := range l.bands {
			l.width = max(l.width, l.bands[b].right+gutter+margin)
		}
	}
	l.width = max(l.width, 2*margin+textWidth(l.drawing.Title+legend, titleSize, false))
	l.shiftBands()
}

// alignBands aligns each band by itself: its neighbours in other bands are not beside it.
func (l *layout) alignBands() {
	for i := range l.nodes {
		other := func(n int) bool { return l.columns[l.nodes[n].column].band != l.columns[l.nodes[i].column].band }
		l.in[i], l.out[i] = slices.DeleteFunc(l.in[i], other), slices.DeleteFunc(l.out[i], other)
	}
	for c := range l.columns {
		l.restack(l.columns[c].nodes)
	}
	l.align()
}

// layOut places the columns from left on, in bands that end at right; in one band when
// that is 0.
func (l *layout) layOut(left, right float64) {
	l.bands, l.areas, l.width = []band{{span: span{left, left}}}, nil, 0
	x := left
	for c := range l.columns {
		column := &l.columns[c]
		begins := c == 0 || l.columns[c-1].wave != column.wave
		if right > 0 && c > 0 && x > left && l.end(c, x, begins, right-left) > right {
			l.closeArea(c - 1)
			l.bands = append(l.bands, band{span: span{left, left}})
			x = left
		}
		column.band = len(l.bands) - 1
		if begins || l.columns[c-1].band != column.band {
			x += waveGap / 2
			l.areas = append(l.areas, area{wave: column.wave, band: column.band, continued: !begins, span: span{left: x}})
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
}

// end returns the end of the columns that begin with one at x: the whole wave, if that
// begins and fits into a band.
func (l *layout) end(c int, x float64, begins bool, room float64) float64 {
	width := l.columnWidth(c) + padding
	if begins {
		whole := float64(waveGap/2 + 2*padding - columnGap)
		wave := l.drawing.Waves[l.columns[c].wave]
		titled := waveGap/2 + 2*padding + max(textWidth(wave.Title, fontSize, true), textWidth(wave.Gate, fontSize, false))
		for n := c; n < len(l.columns) && l.columns[n].wave == l.columns[c].wave; n++ {
			whole += l.columnWidth(n) + columnGap
		}
		if whole = max(whole, titled); whole <= room {
			width = whole
		}
	}
	return x + width
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
	a.right = max(l.columns[c].right, a.left+textWidth(l.areaTitle(*a), fontSize, true), a.left+textWidth(l.drawing.Waves[a.wave].Gate, fontSize, false)) + padding
	b := &l.bands[a.band]
	b.right = max(b.right, a.right)
	l.width = max(l.width, a.right+waveGap/2+margin)
	return a.right
}

func (l *layout) areaTitle(a area) string {
	title := l.drawing.Waves[a.wave].Title
	if a.continued {
		title += ", continued"
	}
	return title
}

// shiftBands puts the bands below each other.
func (l *layout) shiftBands() {
	for b := range l.bands {
		l.bands[b].bottom = top
	}
	for i := range l.nodes {
		n := &l.nodes[i]
		b := &l.bands[l.columns[n.column].band]
		b.bottom = max(b.bottom, n.y+n.height)
	}
	shift := 0.0
	for b := range l.bands {
		l.bands[b].shift = shift
		l.bands[b].bottom += shift + padding
		shift = l.bands[b].bottom - (titleSpace - headSpace) + gutter
	}
	for i := range l.nodes {
		l.nodes[i].y += l.bands[l.columns[l.nodes[i].column].band].shift
	}
	l.height = l.bands[len(l.bands)-1].bottom + margin
}

// around returns the line of an arrow from the end of a band to a height in the next one:
// down beside the band, back below it, and down to the left of the next.
func (l *layout) around(from int, track int, toY float64) (line string, x float64) {
	offset := float64(3 + track%tracks*trackWidth)
	x = l.bands[from+1].left - gutter + offset
	return fmt.Sprintf("H%.1fV%.1fH%.1fV%.1f", l.bands[from].right+offset, l.bands[from].bottom+offset, x, toY), x
}
