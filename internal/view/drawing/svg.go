package drawing

import (
	"fmt"
	"io"
	"strings"

	"github.com/ordapply/ordapply/ordering"
)

// Sizes, in pixels.
const (
	fontSize   = 11
	lineHeight = 14
	padding    = 7
	gap        = 8  // between boxes in a column
	columnGap  = 58 // between columns, for arrows
	waveGap    = 22 // additionally, between waves
	margin     = 14
	headSpace  = 30 // above the boxes of a wave, for its title and its gate
	titleSpace = 26 + headSpace
	titleSize  = 13
	gateWidth  = 4
)

const legend = ". Arrows point to dependents. Strong: declared. Pale: inferred. Dashed: waits only until applied. Bar: gate of a wave."

// WriteSVG draws the picture as one SVG document, which follows the reader's preference for
// light or dark. The error is that of w.
func WriteSVG(w io.Writer, d *Drawing) error { return writeSVG(w, d, style) }

// EmbedSVG draws the picture for a page, whose style sheet gives it its colours.
func EmbedSVG(w io.Writer, d *Drawing) error { return writeSVG(w, d, "") }

func writeSVG(w io.Writer, d *Drawing, style string) error {
	l := newLayout(d)
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%.0f" height="%.0f" viewBox="0 0 %.0f %.0f" font-family="Helvetica, Arial, sans-serif" font-size="%d">`+"\n", l.width, l.height, l.width, l.height, fontSize)
	b.WriteString(style)
	b.WriteString(`<rect class="page" width="100%" height="100%" fill="white"/>` + "\n" + heads)
	fmt.Fprintf(&b, `<text x="%d" y="%d" font-size="%d">%s<tspan class="legend" fill="#5b6575">%s</tspan></text>`+"\n", margin, margin+6, titleSize, escape(d.Title), legend)
	l.writeWaves(&b)
	l.writeArrows(&b)
	for i := range d.Boxes {
		l.writeBox(&b, i)
	}
	b.WriteString("</svg>\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// newLayout computes the positions of everything.
func newLayout(d *Drawing) *layout {
	l := &layout{drawing: d, nodes: make([]node, len(d.Boxes)), passages: make([][]int, len(d.Arrows))}
	for i, box := range d.Boxes {
		widest := 0.0
		text := box.Lines()
		for at, line := range text {
			widest = max(widest, textWidth(line, fontSize, at == 0))
		}
		l.nodes[i].width = widest + 2*padding
		l.nodes[i].height = float64(len(text))*lineHeight + 2*padding - 3
	}
	l.findParts()
	l.assignColumns()
	l.addPassages()
	l.stack()
	l.untangle()
	l.align()
	l.place()
	return l
}

// style has the dark colours of a document; the attributes of its elements are the light ones.
const style = `<style>@media (prefers-color-scheme: dark) {
text { fill: #e6e9ed; } .legend { fill: #9aa4b0; }
.page, .box rect { fill: #14171b; } .wave { fill: #1d2127; stroke: #333a43; } .gate { stroke: #9aa4b0; }
.end rect { fill: #2c333c; } .grey { stroke: #77818d; } .black { stroke: #e6e9ed; }
#grey path { fill: #77818d; } #black path { fill: #e6e9ed; }
}</style>
`

const heads = `<defs>
<marker id="grey" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0 8 4 0 8z" fill="#8a94a6"/></marker>
<marker id="black" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0 8 4 0 8z" fill="#1d2430"/></marker>
</defs>
`

func (l *layout) writeWaves(b *strings.Builder) {
	const y = titleSpace - headSpace
	for _, a := range l.areas {
		wave := l.drawing.Waves[a.wave]
		fmt.Fprintf(b, `<rect class="wave" x="%.1f" y="%d" width="%.1f" height="%.1f" rx="6" fill="#f4f6f9" stroke="#d5dae3"/>`+"\n", a.left, y, a.right-a.left, l.bottom-y)
		fmt.Fprintf(b, `<text x="%.1f" y="%d" font-weight="bold">%s`, a.left+padding, y+14, escape(wave.Title))
		if wave.Gate == "" {
			b.WriteString("</text>\n")
			continue
		}
		fmt.Fprintf(b, `<tspan x="%.1f" dy="12" font-weight="normal">%s</tspan></text>`+"\n", a.left+padding, escape(wave.Gate))
		fmt.Fprintf(b, `<line class="gate" id="gate%d" x1="%.1f" y1="%d" x2="%.1f" y2="%.1f" stroke="#5b6575" stroke-width="%d"><title>%s, %s</title></line>`+"\n",
			a.wave+1, a.left-gateWidth, y, a.left-gateWidth, l.bottom, gateWidth, escape(wave.Title), escape(wave.Gate))
	}
}

func (l *layout) writeBox(b *strings.Builder, i int) {
	n := &l.nodes[i]
	box := l.drawing.Boxes[i]
	if box.End {
		fmt.Fprintf(b, `<g class="end" id="box%d"><title>the end of %s</title><rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" rx="%.1f" fill="#e3e7ee" stroke="#8a94a6"/>`, i, escape(box.Kind), n.x, n.y, n.width, n.height, n.height/2)
		fmt.Fprintf(b, `<text x="%.1f" y="%.1f" font-weight="bold">%s</text></g>`+"\n", n.x+padding, n.y+padding+fontSize-1, escape(box.Kind))
		return
	}
	fmt.Fprintf(b, `<g class="box" id="box%d"><title>%s</title><rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" rx="4" fill="white" stroke="#8a94a6"/>`, i, escape(box.Kind+"\n"+strings.Join(box.Names, "\n")), n.x, n.y, n.width, n.height)
	for at, line := range box.Lines() {
		weight := ""
		if at == 0 {
			weight = ` font-weight="bold"`
		}
		fmt.Fprintf(b, `<text x="%.1f" y="%.1f"%s>%s</text>`, n.x+padding, n.y+padding+float64(at)*lineHeight+fontSize-1, weight, escape(line))
	}
	b.WriteString("</g>\n")
}

// writeArrows draws each arrow from the right side of a box, through its
// passages, to the left side of another.
func (l *layout) writeArrows(b *strings.Builder) {
	for a, arrow := range l.drawing.Arrows {
		colour, head := "#8a94a6", "grey"
		if arrow.Hard {
			colour, head = "#1d2430", "black"
		}
		dash := ""
		if arrow.Gate == ordering.Applied {
			dash = ` stroke-dasharray="4 3"`
		}
		fmt.Fprintf(b, `<path class="%s box%d box%d" d="%s" fill="none" stroke="%s"%s marker-end="url(#%s)"><title>%s</title></path>`+"\n", head, arrow.From, arrow.To, l.path(a), colour, dash, head, escape(arrow.Why))
	}
}

// path returns an arrow's line: horizontal within columns, curved between them.
func (l *layout) path(a int) string {
	arrow := l.drawing.Arrows[a]
	from := &l.nodes[arrow.From]
	x, y := from.x+from.width, from.middle()
	var d strings.Builder
	fmt.Fprintf(&d, "M%.1f %.1f", x, y)
	line := func(toX float64) {
		if toX > x {
			fmt.Fprintf(&d, "H%.1f", toX)
			x = toX
		}
	}
	next := func(toX, toY float64) {
		if x == toX {
			return
		}
		half := (x + toX) / 2
		fmt.Fprintf(&d, "C%.1f %.1f %.1f %.1f %.1f %.1f", half, y, half, toY, toX, toY)
		x, y = toX, toY
	}
	line(l.columns[from.column].right)
	for _, p := range l.passages[a] {
		passage := &l.nodes[p]
		next(l.columns[passage.column].left, passage.middle())
		line(l.columns[passage.column].right)
	}
	to := &l.nodes[arrow.To]
	next(to.x, to.middle())
	return d.String()
}

func escape(text string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;").Replace(text)
}
