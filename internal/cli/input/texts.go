package input

import (
	"bytes"
	"cmp"
	"fmt"
	"regexp"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/internal/text/tree"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// Texts returns the document of each resource, ending in a newline: as its author wrote it
// where it was a document of its own, and with the same content where it was an item of a
// List.
func Texts(stream *apply.Stream, inputs []apply.Input) (map[object.ID][]byte, error) {
	named := map[inputKey][]apply.Input{}
	for _, in := range inputs {
		id := kube.Meta(in.Object).ID
		id.Name = cmp.Or(id.Name, in.Object.GetGenerateName()) // as a hook is planned
		key := keyOf(id, in.Source)
		named[key] = append(named[key], in)
	}
	texts := make(map[object.ID][]byte, len(stream.Resources))
	for _, r := range stream.Resources {
		in := inputOf(r, named[keyOf(r.ID, r.Source)])
		if in.Text != nil {
			texts[r.ID] = Document(in.Text)
			continue
		}
		text, err := tree.PrintObject(in.Object.Object)
		if err != nil {
			return nil, fmt.Errorf("print %s: %w", r.ID, err)
		}
		texts[r.ID] = text
	}
	return texts, nil
}

// inputKey is common to a resource and its manifest: a namespace may have been set or
// removed.
type inputKey struct{ source, kind, name string }

func keyOf(id object.ID, source string) inputKey {
	return inputKey{source, id.GroupKind(), id.Name}
}

// inputOf returns a resource's input, among those with its key.
func inputOf(r ordering.Resource, inputs []apply.Input) apply.Input {
	found := inputs[0]
	for _, in := range inputs {
		switch namespace := in.Object.GetNamespace(); namespace {
		case r.Namespace:
			return in
		case "":
			found = in
		}
	}
	return found
}

// Document returns a text without layer marks of an earlier run and without empty lines
// around it, ending in a newline. Where a block scalar keeps the lines after it (|+), they
// are kept at the end.
func Document(text []byte) []byte {
	text = bytes.TrimLeft(withoutMarks(text), "\r\n")
	if !regexp.MustCompile(`[|>][1-9]?\+`).Match(text) {
		text = bytes.TrimRight(text, "\r\n")
	}
	return tree.WithLastNewline(text)
}

// withoutMarks returns a copy of a text without the layer marks of an earlier run.
func withoutMarks(text []byte) []byte {
	var out []byte
	for line := range bytes.Lines(text) {
		if !bytes.HasPrefix(line, []byte("## START layer: ")) && !bytes.HasPrefix(line, []byte("## END layer: ")) {
			out = append(out, line...)
		}
	}
	return out
}
