package drawing_test

import (
	"bytes"
	"cmp"
	"encoding/xml"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/internal/view/drawing"
	"github.com/ordapply/ordapply/ordering"
	"github.com/ordapply/ordapply/test/seeds"
)

// In any drawing boxes do not overlap, are inside their waves and contain their
// labels; arrows go from the right side of a box to the left side of another,
// from left to right, and cross no box.
func TestAnyDrawing(t *testing.T) {
	for seed := range seeds.UpTo(300) {
		d := randomDrawing(rand.New(rand.NewPCG(seed, 1)))
		requireReadable(t, d, fmt.Sprintf("seed %d", seed))
	}
}

// A wave with few boxes has no column that only arrows to later waves cross.
func TestArrowsOverWaves(t *testing.T) {
	d := &drawing.Drawing{
		Title: "4 boxes", Waves: []drawing.DrawnWave{{Title: "1", Boxes: []int{0}}, {Title: "2", Boxes: []int{1, 2}}, {Title: "3", Boxes: []int{3}}},
		Boxes:  []drawing.Box{{Kind: "A"}, {Kind: "B", Wave: 1}, {Kind: "C", Wave: 1}, {Kind: "D", Wave: 2}},
		Arrows: []drawing.Arrow{{From: 0, To: 3}, {From: 1, To: 2}, {From: 2, To: 3}},
	}
	p := requireReadable(t, d, "arrows over waves")
	require.Less(t, p.Groups[1].Rects[0].X, p.Groups[2].Rects[0].X, "dependents are to the right")
}

// Pairs are side by side.
func TestPairs(t *testing.T) {
	d := &drawing.Drawing{Title: "pairs", Waves: []drawing.DrawnWave{{Title: "1"}, {Title: "2"}}}
	for i := range 12 {
		d.Boxes = append(d.Boxes, drawing.Box{Kind: fmt.Sprint("K", i), Wave: i / 6})
		d.Waves[i/6].Boxes = append(d.Waves[i/6].Boxes, i)
	}
	for i := range 6 {
		d.Arrows = append(d.Arrows, drawing.Arrow{From: i, To: 6 + (i*5+3)%6})
	}
	p := requireReadable(t, d, "pairs")
	for _, a := range d.Arrows {
		require.Equal(t, p.Groups[a.From].Rects[0].Y, p.Groups[a.To].Rects[0].Y, "a pair stands side by side")
	}
}

// A tree in any order is drawn without crossings, and a box with one
// predecessor is next to it if there is room.
func TestTreeHasNoCrossings(t *testing.T) {
	d := &drawing.Drawing{Title: "tree", Waves: []drawing.DrawnWave{{Title: "1", Boxes: []int{0}}, {Title: "2"}, {Title: "3"}}, Boxes: []drawing.Box{{Kind: "root"}}}
	for i := range 16 {
		wave := 1 + i/8
		d.Boxes = append(d.Boxes, drawing.Box{Kind: fmt.Sprint("K", i), Wave: wave})
		d.Waves[wave].Boxes = append(d.Waves[wave].Boxes, i+1)
		if wave == 1 {
			d.Arrows = append(d.Arrows, drawing.Arrow{From: 0, To: i + 1})
		} else if leaf := i*3%8 + 9; leaf != 9 {
			d.Arrows = append(d.Arrows, drawing.Arrow{From: i - 7, To: leaf})
		}
	}
	p := requireReadable(t, d, "tree")
	for i, a := range d.Arrows {
		for _, b := range d.Arrows[:i] {
			if d.Boxes[a.From].Wave != d.Boxes[b.From].Wave || a.From == b.From {
				continue
			}
			before := p.Groups[a.From].Rects[0].Y - p.Groups[b.From].Rects[0].Y
			after := p.Groups[a.To].Rects[0].Y - p.Groups[b.To].Rects[0].Y
			require.Positive(t, before*after, "arrows %v and %v cross", a, b)
		}
	}
	for _, a := range d.Arrows[8:] {
		if a.From != 0 {
			require.InDelta(t, p.Groups[a.From].Rects[0].Y, p.Groups[a.To].Rects[0].Y, 0.2, "%v is not level", a)
		}
	}
}

func TestTextIsEscaped(t *testing.T) {
	d := &drawing.Drawing{
		Title: `a <b> & "c"`, Waves: []drawing.DrawnWave{{Title: "<w>", Boxes: []int{0, 1}}},
		Boxes:  []drawing.Box{{Kind: "K", Names: []string{"</text><script>"}}, {Kind: "<end>", End: true}},
		Arrows: []drawing.Arrow{{From: 0, To: 1, Why: "<why>"}},
	}
	p := requireReadable(t, d, "escaped")
	require.Equal(t, "</text><script>", p.Groups[0].Texts[1].Text)
}

func randomDrawing(r *rand.Rand) *drawing.Drawing {
	d := &drawing.Drawing{Title: "random"}
	for wave := range 1 + r.IntN(5) {
		d.Waves = append(d.Waves, drawing.DrawnWave{Title: strings.Repeat("Wave ", 1+r.IntN(6)), Gate: strings.Repeat("opens ", r.IntN(6))})
		for range 1 + r.IntN(9) {
			box := drawing.Box{Kind: strings.Repeat("Mm", r.IntN(12)) + "i", Wave: wave, End: r.IntN(6) == 0}
			for range r.IntN(16) * r.IntN(2) {
				box.Names = append(box.Names, strings.Repeat("namespace/NAME-", 1+r.IntN(3)))
			}
			if box.End {
				box.Names = nil
			}
			d.Waves[wave].Boxes = append(d.Waves[wave].Boxes, len(d.Boxes))
			d.Boxes = append(d.Boxes, box)
		}
	}
	seen := map[[2]int]bool{}
	for range r.IntN(3 * len(d.Boxes)) {
		from, to := r.IntN(len(d.Boxes)), r.IntN(len(d.Boxes))
		if ends := [2]int{min(from, to), max(from, to)}; from != to && !seen[ends] {
			seen[ends] = true
			d.Arrows = append(d.Arrows, drawing.Arrow{From: ends[0], To: ends[1], Hard: r.IntN(2) == 0, Gate: ordering.Gate(r.IntN(2))})
		}
	}
	return d
}

// picture is the parsed output.
type picture struct {
	Width  float64 `xml:"width,attr"`
	Height float64 `xml:"height,attr"`
	Rects  []rect  `xml:"rect"` // the background, then the waves
	Texts  []text  `xml:"text"`
	Groups []group `xml:"g"` // the boxes
	Gates  []gate  `xml:"line"`
	Paths  []struct {
		D string `xml:"d,attr"`
	} `xml:"path"`
}

type gate struct {
	X      float64 `xml:"x1,attr"`
	Top    float64 `xml:"y1,attr"`
	Bottom float64 `xml:"y2,attr"`
}

type group struct {
	Rects []rect `xml:"rect"`
	Texts []text `xml:"text"`
}

type rect struct {
	X      float64 `xml:"x,attr"`
	Y      float64 `xml:"y,attr"`
	Width  size    `xml:"width,attr"`
	Height size    `xml:"height,attr"`
}

type size float64

// UnmarshalXMLAttr parses a length; "100%" is 0.
func (s *size) UnmarshalXMLAttr(attr xml.Attr) error {
	if strings.HasSuffix(attr.Value, "%") {
		return nil
	}
	f, err := strconv.ParseFloat(attr.Value, 64)
	*s = size(f)
	return err
}

type text struct {
	X      float64 `xml:"x,attr"`
	Y      float64 `xml:"y,attr"`
	Weight string  `xml:"font-weight,attr"`
	Text   string  `xml:",chardata"`
	Gate   string  `xml:"tspan"`
}

func (r rect) right() float64  { return r.X + float64(r.Width) }
func (r rect) bottom() float64 { return r.Y + float64(r.Height) }

func (r rect) overlaps(o rect) bool {
	return r.X < o.right() && o.X < r.right() && r.Y < o.bottom() && o.Y < r.bottom()
}

// wave returns the number of the wave's rectangle that contains a box; -1 if none does.
func (p picture) wave(box rect) int {
	return slices.IndexFunc(p.Rects[1:], func(wave rect) bool {
		return wave.X < box.X && box.right() < wave.right() && wave.Y < box.Y && box.bottom() < wave.bottom()
	})
}

func requireReadable(t *testing.T, d *drawing.Drawing, name string) picture {
	t.Helper()
	var out bytes.Buffer
	require.NoError(t, drawing.WriteSVG(&out, d))
	var p picture
	require.NoError(t, xml.Unmarshal(out.Bytes(), &p), name)
	waves := p.Rects[1:]
	require.Len(t, waves, len(d.Waves), name)
	require.Len(t, p.Groups, len(d.Boxes), name)
	require.Len(t, p.Paths, len(d.Arrows), name)
	for i, g := range p.Groups {
		box := g.Rects[0]
		wave := p.wave(box)
		require.Equal(t, d.Boxes[i].Wave, wave, "%s: box %d is not inside its wave", name, i)
		require.Equal(t, d.Waves[wave].Title, p.Texts[wave+1].Text, name)
		for j := range i {
			require.False(t, box.overlaps(p.Groups[j].Rects[0]), "%s: boxes %d and %d overlap", name, i, j)
		}
		for _, line := range g.Texts {
			require.Less(t, line.X+advance(line), box.right(), "%s: %q does not fit into its box", name, line.Text)
			require.Less(t, line.Y, box.bottom(), "%s: %q stands below its box", name, line.Text)
		}
	}
	for i, wave := range waves {
		require.LessOrEqual(t, wave.right(), p.Width, name)
		require.LessOrEqual(t, wave.bottom(), p.Height, name)
		for _, before := range waves[:i] {
			require.False(t, wave.overlaps(before), "%s: waves overlap", name)
		}
		require.Less(t, p.Texts[i+1].X+advance(p.Texts[i+1]), wave.right(), "%s: the wave's title does not fit", name)
		require.Less(t, p.Texts[i+1].X+advance(text{Text: p.Texts[i+1].Gate}), wave.right(), "%s: the gate's text does not fit", name)
	}
	requireGates(t, d, p, name)
	requireTogether(t, d, p, name)
	for a, arrow := range d.Arrows {
		requireArrow(t, p, arrow, p.Paths[a].D, fmt.Sprintf("%s, arrow from %d to %d", name, arrow.From, arrow.To))
	}
	return p
}

// requireGates checks that each gate stands at the left of its wave, as high as that, and
// in no other wave.
func requireGates(t *testing.T, d *drawing.Drawing, p picture, name string) {
	t.Helper()
	next := 0
	for i, wave := range p.Rects[1:] {
		if p.Texts[i+1].Gate == "" {
			continue
		}
		bar := p.Gates[next]
		require.InDelta(t, wave.X, bar.X, 8, name)
		require.InDeltaSlice(t, []float64{wave.Y, wave.bottom()}, []float64{bar.Top, bar.Bottom}, 0.2, name)
		for _, other := range p.Rects[1:] {
			require.False(t, other.overlaps(rect{X: bar.X - 2, Width: 4, Y: bar.Top, Height: size(bar.Bottom - bar.Top)}), "%s: a gate stands in a wave", name)
		}
		next++
	}
	require.Len(t, p.Gates, next, name)
	for _, wave := range d.Waves {
		if wave.Gate != "" {
			next--
		}
	}
	require.Zero(t, next, "%s: not one gate for each wave that has one", name)
}

// requireTogether checks that connected boxes are adjacent in each column.
func requireTogether(t *testing.T, d *drawing.Drawing, p picture, name string) {
	t.Helper()
	part := make([]int, len(d.Boxes))
	for i := range part {
		part[i] = i
	}
	for range d.Boxes {
		for _, a := range d.Arrows {
			low := min(part[a.From], part[a.To])
			part[a.From], part[a.To] = low, low
		}
	}
	boxes := make([]int, len(d.Boxes))
	for i := range boxes {
		boxes[i] = i
	}
	slices.SortFunc(boxes, func(a, b int) int {
		x, y := p.Groups[a].Rects[0], p.Groups[b].Rects[0]
		return cmp.Or(cmp.Compare(x.X, y.X), cmp.Compare(x.Y, y.Y))
	})
	column := func(box int) [2]float64 {
		return [2]float64{p.Groups[box].Rects[0].X, float64(part[box])}
	}
	ended := map[[2]float64]bool{}
	for i, b := range boxes[1:] {
		if above := boxes[i]; column(above) != column(b) {
			ended[column(above)] = true
		}
		require.False(t, ended[column(b)], "%s: box %d stands apart from those that it is connected with", name, b)
	}
}

// requireArrow follows an arrow's line of horizontal and curved segments, which never leads
// back.
func requireArrow(t *testing.T, p picture, arrow drawing.Arrow, d, name string) {
	t.Helper()
	from, to := p.Groups[arrow.From].Rects[0], p.Groups[arrow.To].Rects[0]
	x, y := 0.0, 0.0
	for i, piece := range regexp.MustCompile(`[MHC][^MHC]*`).FindAllString(d, -1) {
		var n []float64
		for _, field := range strings.Fields(piece[1:]) {
			f, err := strconv.ParseFloat(field, 64)
			require.NoError(t, err, name)
			n = append(n, f)
		}
		switch piece[0] {
		case 'M':
			x, y = n[0], n[1]
			require.Equal(t, 0, i, name)
			require.InDelta(t, from.right(), x, 0.2, "%s: it does not leave at the right of its box", name)
			require.True(t, from.Y < y && y < from.bottom(), name)
		case 'H':
			line := rect{X: min(x, n[0]) + 0.2, Y: y, Width: size(max(x, n[0]) - min(x, n[0]) - 0.4)}
			for b, g := range p.Groups {
				hit := g.Rects[0].X < line.right() && line.X < g.Rects[0].right() && g.Rects[0].Y < y && y < g.Rects[0].bottom()
				require.False(t, hit, "%s: it leads through box %d", name, b)
			}
			require.Greater(t, n[0], x, name)
			x = n[0]
		case 'C':
			require.Greater(t, n[4], x, "%s: it leads back", name)
			for b, g := range p.Groups {
				hit := g.Rects[0].X+0.2 < n[4] && x+0.2 < g.Rects[0].right()
				require.False(t, hit, "%s: it curves over the column of box %d", name, b)
			}
			x, y = n[4], n[5]
		}
	}
	require.InDelta(t, to.X, x, 0.2, "%s: it does not enter at the left of its box", name)
	require.True(t, to.Y < y && y < to.bottom(), name)
}

// advance returns the width of a text in DejaVu Sans at 11 pixels: the advances of some
// letters from its font files, in thousandths, and for others the widest that occurs here.
func advance(line text) float64 {
	regular := map[rune]float64{'M': 863, 'm': 974, 'i': 278, 'n': 634, 'a': 613, 'e': 615, 's': 521, 'p': 635, 'c': 550, '/': 337, 'N': 748, 'A': 684, 'E': 632, '-': 361, ' ': 318, 'W': 989, 'v': 592}
	bold := map[rune]float64{'M': 995, 'm': 1042, 'i': 343, 'n': 712, 'a': 675, 'e': 678, 's': 595, 'p': 716, 'c': 593, '/': 365, 'N': 837, 'A': 774, 'E': 683, '-': 415, ' ': 348, 'W': 1103, 'v': 652}
	table, sum := regular, 0.0
	if line.Weight == "bold" {
		table = bold
	}
	for _, r := range line.Text {
		if table[r] == 0 {
			sum += 600
		}
		sum += table[r]
	}
	return sum * 11 / 1000
}

// Every colour of a document has a dark one.
func TestDarkColours(t *testing.T) {
	d := &drawing.Drawing{
		Title: "all", Waves: []drawing.DrawnWave{{Title: "1", Boxes: []int{0, 1}}, {Title: "2", Gate: "gate", Boxes: []int{2}}},
		Boxes:  []drawing.Box{{Kind: "A"}, {Kind: "end", End: true}, {Kind: "B", Wave: 1}},
		Arrows: []drawing.Arrow{{From: 0, To: 2}, {From: 1, To: 2, Hard: true}},
	}
	var out, embedded bytes.Buffer
	require.NoError(t, drawing.WriteSVG(&out, d))
	require.NoError(t, drawing.EmbedSVG(&embedded, d))
	require.NotContains(t, embedded.String(), "<style>", "the policy of a page would refuse it")
	style := regexp.MustCompile(`(?s)<style>@media \(prefers-color-scheme: dark\) \{(.*)\}</style>\n`).FindStringSubmatch(out.String())
	require.Equal(t, embedded.String(), strings.Replace(out.String(), style[0], "", 1))
	for _, selector := range []string{"text {", ".legend {", ".page, .box rect {", ".wave {", ".gate {", ".end rect {", ".grey {", ".black {", "#grey path {", "#black path {"} {
		require.Contains(t, style[1], selector)
	}
}
