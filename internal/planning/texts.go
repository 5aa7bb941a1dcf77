package planning

import (
	"bytes"
	"fmt"

	"sigs.k8s.io/yaml"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/object"
)

// Texts returns the document of each resource, ending in a newline, as its author wrote it
// where it was a document of its own.
func Texts(stream *apply.Stream, inputs []apply.Input) (map[object.ID][]byte, error) {
	bySource := map[string]apply.Input{}
	for _, in := range inputs {
		if in.Text != nil {
			bySource[in.Source] = in
		}
	}
	texts := make(map[object.ID][]byte, len(stream.Resources))
	for _, r := range stream.Resources {
		if in, ok := bySource[r.Source]; ok {
			text := bytes.TrimLeft(withoutMarks(in.Text), "\r\n")
			texts[r.ID] = append(bytes.TrimRight(text, "\r\n"), '\n')
			continue
		}
		text, err := yaml.Marshal(r.Object)
		if err != nil {
			return nil, fmt.Errorf("print %s: %w", r.ID, err)
		}
		texts[r.ID] = text
	}
	return texts, nil
}

// withoutMarks removes the layer marks of an earlier run.
func withoutMarks(text []byte) []byte {
	var out []byte
	for line := range bytes.Lines(text) {
		if !bytes.HasPrefix(line, []byte("## START layer: ")) && !bytes.HasPrefix(line, []byte("## END layer: ")) {
			out = append(out, line...)
		}
	}
	return out
}
