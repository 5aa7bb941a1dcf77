package drawing

import (
	"fmt"
	"io"
	"strings"

	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/ordering"
)

// WriteDOT writes the drawing in Graphviz's DOT language. Waves go from left to
// right. Declared edges are black, inferred ones grey, and edges with gate
// Applied dashed.
func (d *Drawing) WriteDOT(w io.Writer) error {
	var b strings.Builder
	b.WriteString("digraph plan {\n")
	fmt.Fprintf(&b, "  graph [rankdir=LR, compound=true, fontname=\"Helvetica\", fontsize=14, labelloc=t, label=%s, nodesep=0.12, ranksep=0.9, concentrate=false]\n", quoteDOT(d.Title))
	b.WriteString("  node [shape=box, style=\"rounded,filled\", fillcolor=white, color=\"#8a94a6\", fontname=\"Helvetica\", fontsize=11, margin=\"0.12,0.06\"]\n")
	b.WriteString("  edge [arrowsize=0.6, color=\"#8a94a6\"]\n")
	for n, wave := range d.Waves {
		fmt.Fprintf(&b, "  subgraph cluster_%d {\n    label=%s; labeljust=l; style=\"rounded,filled\"; color=\"#d5dae3\"; fillcolor=\"#f5f7fa\"\n", n, quoteDOT(wave.Title))
		for _, box := range wave.Boxes {
			fmt.Fprintf(&b, "    b%d [%s]\n", box, d.Boxes[box].attributesDOT())
		}
		b.WriteString("  }\n")
	}
	d.writeOrderDOT(&b)
	for _, a := range d.Arrows {
		fmt.Fprintf(&b, "  b%d -> b%d [%stooltip=%s]\n", a.From, a.To, a.styleDOT(), quoteDOT(a.Why))
	}
	b.WriteString("}\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// writeOrderDOT adds invisible edges that keep the waves in order.
func (d *Drawing) writeOrderDOT(b *strings.Builder) {
	for n := 1; n < len(d.Waves); n++ {
		if before, after := d.Waves[n-1].Boxes, d.Waves[n].Boxes; len(before) > 0 && len(after) > 0 {
			for _, box := range after {
				fmt.Fprintf(b, "  b%d -> b%d [style=invis, weight=0]\n", before[len(before)/2], box)
			}
		}
	}
}

func (a Arrow) styleDOT() string {
	var style string
	if a.Hard {
		style += `color=black, `
	}
	if a.Gate == ordering.Applied {
		style += `style=dashed, `
	}
	return style
}

func (b Box) attributesDOT() string {
	if b.End {
		return fmt.Sprintf("label=%s, shape=cds, style=filled, fillcolor=\"#e3e7ee\", tooltip=%s", quoteDOT(b.Kind), quoteDOT("the end of "+b.Kind))
	}
	return fmt.Sprintf("label=%s, tooltip=%s", b.labelDOT(), quoteDOT(strings.Join(b.Names, "\n")))
}

// labelDOT returns a box's label: its kind in bold, then its names.
func (b Box) labelDOT() string {
	var label strings.Builder
	fmt.Fprintf(&label, "<<b>%s</b>", escapeXML(b.Kind))
	for _, line := range b.Lines()[1:] {
		label.WriteString("<br align=\"left\"/>" + escapeXML(line))
	}
	label.WriteString("<br align=\"left\"/>>")
	return label.String()
}

func escapeXML(text string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(plain.Line(text))
}

func quoteDOT(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(text) + `"`
}
