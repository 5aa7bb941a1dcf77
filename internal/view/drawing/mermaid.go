package drawing

import (
	"fmt"
	"io"
	"strings"

	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/ordering"
)

// WriteMermaid writes the drawing as a Mermaid flowchart. Arrows of declared
// edges are thick, those with gate Applied dotted.
func (d *Drawing) WriteMermaid(w io.Writer) error {
	var b strings.Builder
	b.WriteString("flowchart LR\n")
	for n, wave := range d.Waves {
		fmt.Fprintf(&b, "  subgraph w%d[%s]\n", n, quoteMermaid(wave.Title))
		for _, box := range wave.Boxes {
			open, shut := "[", "]"
			if d.Boxes[box].End {
				open, shut = "([", "])"
			}
			fmt.Fprintf(&b, "    b%d%s%s%s\n", box, open, quoteMermaid(strings.Join(d.Boxes[box].Lines(), "<br/>")), shut)
		}
		b.WriteString("  end\n")
	}
	for n := 1; n < len(d.Waves); n++ {
		fmt.Fprintf(&b, "  w%d ~~~ w%d\n", n-1, n)
	}
	for _, a := range d.Arrows {
		arrow := "-->"
		switch {
		case a.Gate == ordering.Applied:
			arrow = "-.->"
		case a.Hard:
			arrow = "==>"
		}
		fmt.Fprintf(&b, "  b%d %s b%d\n", a.From, arrow, a.To)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func quoteMermaid(text string) string {
	return `"` + strings.NewReplacer(`"`, "#quot;", "<br/>", "<br/>", "<", "#lt;", ">", "#gt;").Replace(plain.Line(text)) + `"`
}
