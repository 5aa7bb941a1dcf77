package fn

import (
	"bytes"
	"slices"

	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
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
	if !bytes.Contains(in, []byte(startMark)) && !bytes.Contains(in, []byte(endMark)) {
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

// join joins documents into a stream. layers names each document's layer, or
// ""; nil omits the marks. Documents beyond the end of layers have none.
func join(documents []text, layers []string) text {
	at := func(i int) string {
		if i < 0 || i >= len(layers) {
			return ""
		}
		return layers[i]
	}
	var out text
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

// layersOf returns the layers of the sorted resources after the changes.
func layersOf(metas []object.Meta, decision Decision) []string {
	out := make([]string, 0, len(metas))
	for _, i := range decision.Sorted {
		layer := metas[i].Annotations[ordering.LayerAnnotation]
		if changed, ok := decision.Changes[i].Set[ordering.LayerAnnotation]; ok {
			layer = changed
		}
		if decision.HoistReasons[i] != "" {
			layer = "" // it is among those of another layer
		}
		out = append(out, layer)
	}
	return out
}
