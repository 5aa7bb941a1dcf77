package main

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"math"
	"slices"
	"strings"
)

// line is a series of a chart.
type line struct {
	name   string
	points [][2]float64 // x and y, both above 0
}

const (
	chartWidth, chartHeight  = 860.0, 420.0
	left, right, top, bottom = 60.0, 240.0, 36.0, 34.0
	labelHeight              = 15.0
	plotWidth, plotHeight    = chartWidth - left - right, chartHeight - top - bottom
	chartStyle               = `text{font:12px sans-serif;fill:#333}.grid{stroke:#8884;fill:none}@media(prefers-color-scheme:dark){text{fill:#ccc}}`
)

// growth draws a figure of all peers by the number of objects; counted is what the axis says of them.
func growth(title, counted string, parts []Part, phase string, of metric) string {
	var lines []line
	index := map[string]int{}
	for _, p := range parts {
		for _, name := range p.names() {
			e, ok := p.estimate(name, phase, of)
			if !ok || e.Median <= 0 {
				continue
			}
			if _, known := index[name]; !known {
				index[name] = len(lines)
				lines = append(lines, line{name: name})
			}
			l := &lines[index[name]]
			l.points = append(l.points, [2]float64{float64(p.Size), e.Median})
		}
	}
	return draw(title, counted, lines)
}

// draw draws lines as SVG, with logarithmic axes and their names at their ends.
func draw(title, counted string, lines []line) string {
	x, y := axis(lines, 0), axis(lines, 1)
	px := func(v float64) float64 { return left + plotWidth*x.share(v) }
	py := func(v float64) float64 { return top + plotHeight*(1-y.share(v)) }
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f"><title>%s</title><style>%s</style>`+"\n", chartWidth, chartHeight, escape(title), chartStyle)
	fmt.Fprintf(&b, `<text x="%.0f" y="20">%s</text><text x="%.0f" y="%.0f" text-anchor="end">%s</text>`+"\n", left, escape(title), left+plotWidth, chartHeight-2, escape(counted))
	for _, v := range x.ticks() {
		fmt.Fprintf(&b, `<path class="grid" d="M%.1f %.0fV%.0f"/><text x="%.1f" y="%.0f" text-anchor="middle">%s</text>`+"\n", px(v), top, top+plotHeight, px(v), top+plotHeight+16, tick(v))
	}
	for _, v := range y.ticks() {
		fmt.Fprintf(&b, `<path class="grid" d="M%.0f %.1fH%.0f"/><text x="%.0f" y="%.1f" text-anchor="end">%s</text>`+"\n", left, py(v), left+plotWidth, left-6, py(v)+4, tick(v))
	}
	labels := labelPlaces(lines, py)
	for i, l := range lines {
		var path strings.Builder
		for n, p := range l.points {
			fmt.Fprintf(&path, "%s%.1f %.1f", map[bool]string{true: "M", false: "L"}[n == 0], px(p[0]), py(p[1]))
		}
		last := l.points[len(l.points)-1]
		at := ""
		if last[0] < x.high {
			at = " at " + tick(last[0])
		}
		colour, dash := pen(l.name)
		fmt.Fprintf(&b, `<path d="%s" fill="none" stroke="%s" stroke-width="2"%s/>`, path.String(), colour, dash)
		for _, p := range l.points {
			fmt.Fprintf(&b, `<circle cx="%.1f" cy="%.1f" r="3" fill="%s"/>`, px(p[0]), py(p[1]), colour)
		}
		fmt.Fprintf(&b, `<path d="M%.1f %.1fL%.1f %.1f" stroke="%s" stroke-width=".7"/>`, px(last[0])+4, py(last[1]), left+plotWidth+14, labels[i]-4, colour)
		fmt.Fprintf(&b, `<text x="%.0f" y="%.1f" style="fill:%s">%s %s%s</text>`+"\n", left+plotWidth+18, labels[i], colour, escape(l.name), number(last[1]), at)
	}
	return b.String() + "</svg>\n"
}

// scale is a logarithmic axis.
type scale struct{ low, high float64 }

func axis(lines []line, coordinate int) scale {
	s := scale{math.Inf(1), math.Inf(-1)}
	for _, l := range lines {
		for _, p := range l.points {
			s.low, s.high = min(s.low, p[coordinate]), max(s.high, p[coordinate])
		}
	}
	if s.low >= s.high {
		s.low, s.high = s.low/2, s.high*2
	}
	return s
}

func (s scale) share(v float64) float64 { return math.Log(v/s.low) / math.Log(s.high/s.low) }

// ticks returns the round numbers of an axis: powers of ten, with 2 and 5 times these if
// there are few.
func (s scale) ticks() []float64 {
	var found []float64
	steps := []float64{1, 2, 5}
	if s.high/s.low > 2000 {
		steps = steps[:1]
	}
	for e := math.Floor(math.Log10(s.low)); e <= math.Ceil(math.Log10(s.high)); e++ {
		for _, step := range steps {
			if v := step * math.Pow(10, e); v >= s.low && v <= s.high {
				found = append(found, v)
			}
		}
	}
	return found
}

func tick(v float64) string {
	if v >= 1000 {
		return grouped(int(v))
	}
	return fmt.Sprintf("%g", math.Round(v*1000)/1000)
}

// labelPlaces returns the height of each line's name, so that no two overlap.
func labelPlaces(lines []line, py func(float64) float64) []float64 {
	places := make([]float64, len(lines))
	byHeight := make([]int, len(lines))
	for i, l := range lines {
		places[i], byHeight[i] = py(l.points[len(l.points)-1][1])+4, i
	}
	slices.SortStableFunc(byHeight, func(a, b int) int { return cmp.Compare(places[a], places[b]) })
	lowest := top
	for _, i := range byHeight {
		places[i] = max(places[i], lowest)
		lowest = places[i] + labelHeight
	}
	limit := chartHeight
	for _, i := range slices.Backward(byHeight) {
		places[i] = min(places[i], limit)
		limit = places[i] - labelHeight
	}
	return places
}

// pen returns the colour of a peer's program and the dashes of the way that it is used.
func pen(name string) (colour, dash string) {
	program, way, _ := strings.Cut(name, ", ")
	colours := map[string]string{floor: "#888888", plain: "#2f6fdf", "kubectl": "#d9822b", "kapp": "#2e9e5b", "kapply": "#a855c7", "Helm": "#d64545"}
	if colour = colours[program]; colour == "" {
		colour = "#b08d57"
	}
	switch way {
	case "":
	case "client-side":
		dash = ` stroke-dasharray="2 4"`
	default:
		dash = ` stroke-dasharray="6 4"`
	}
	return colour, dash
}

func escape(text string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(text))
	return b.String()
}
