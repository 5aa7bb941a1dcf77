package edit

import (
	"bytes"
	"slices"

	"github.com/ordapply/ordapply/internal/plain"
)

// Comments that show readers where a layer starts and ends, similar to Helm's
// rendered groups. Programs ignore them.
const (
	startMark = "## START layer: "
	endMark   = "## END layer: "
)

// withoutMarks removes the marks of an earlier run, which would otherwise move
// with the resource below them. Only lines at the edge of a document are marks;
// elsewhere they may be part of a scalar.
func withoutMarks(in []byte) []byte {
	if !mayHaveMarks(in) {
		return in
	}
	lines := bytes.SplitAfter(in, []byte("\n"))
	dropped := make([]bool, len(lines))
	edge := func(i int) bool {
		return i < 0 || i >= len(lines) || dropped[i] || len(lines[i]) == 0 || bytes.HasPrefix(lines[i], []byte("---"))
	}
	for i := range lines {
		dropped[i] = bytes.HasPrefix(lines[i], []byte(startMark)) && edge(i-1)
	}
	for i := range slices.Backward(lines) {
		dropped[i] = dropped[i] || bytes.HasPrefix(lines[i], []byte(endMark)) && edge(i+1)
	}
	var out []byte
	for i, line := range lines {
		if !dropped[i] {
			out = append(out, line...)
		}
	}
	return out
}

// HasMarks reports whether there are marks of an earlier run.
func HasMarks(in []byte) bool { return len(withoutMarks(in)) < len(in) }

func mayHaveMarks(in []byte) bool {
	return bytes.Contains(in, []byte(startMark)) || bytes.Contains(in, []byte(endMark))
}

// Text is a document or stream as a list of pieces.
type Text [][]byte

// Joined returns the text as a single slice.
func (t Text) Joined() []byte { return bytes.Join(t, nil) }

// Join joins documents into a stream. layers names each document's layer, or
// ""; nil omits the marks. Documents beyond the end of layers have none.
func Join(documents []Text, layers []string) Text {
	at := func(i int) string {
		if i < 0 || i >= len(layers) {
			return ""
		}
		return layers[i]
	}
	var out Text
	for i, document := range documents {
		if i > 0 {
			out = append(out, []byte("---\n"))
		}
		if layer := at(i); layer != "" && layer != at(i-1) {
			out = append(out, []byte(startMark+plain.Line(layer)+"\n"))
		}
		out = append(out, document...)
		if layer := at(i); layer != "" && layer != at(i+1) {
			out = append(out, []byte(endMark+plain.Line(layer)+"\n"))
		}
	}
	return out
}
