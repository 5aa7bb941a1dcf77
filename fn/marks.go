package fn

import (
	"bytes"
	"slices"

	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// The comments that show people where a layer begins and ends, in the manner of
// Helm's rendered groups. They say nothing to programs.
const (
	startMark = "## START layer: "
	endMark   = "## END layer: "
)

// withoutMarks drops the marks of an earlier run, which would otherwise travel
// with the resource below them. Only lines that touch the edge of a document
// are marks: anywhere else they might be part of a text.
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

// join makes one stream of documents. layers names each document's layer, ""
// for none; nil leaves the marks out. Documents behind the last layer have none.
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

// layersOf are the layers of the sorted resources after the changes.
func layersOf(metas []object.Meta, decision Decision) []string {
	out := make([]string, 0, len(metas))
	for _, i := range decision.Sorted {
		layer := metas[i].Annotations[ordering.LayerAnnotation]
		if changed, ok := decision.Changes[i].Set[ordering.LayerAnnotation]; ok {
			layer = changed
		}
		if decision.Early[i] != "" {
			layer = "" // it stands among those of another layer
		}
		out = append(out, layer)
	}
	return out
}
