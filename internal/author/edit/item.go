package edit

import (
	"bytes"
	"errors"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/ordapply/ordapply/internal/text/tree"
	"github.com/ordapply/ordapply/object"
)

// ErrNotPlain is returned for a change that cannot be made by lines; a tree
// can.
var ErrNotPlain = errors.New("not plainly laid out")

// newReprintedItem returns an item for a resource with a layout, or annotations,
// that cannot be edited by lines. If it changes, only this resource is printed
// anew; otherwise its text is kept.
func newReprintedItem(text []byte, column int) (item textItem, meta object.Meta, ok bool) {
	item = textItem{text: text, column: column, reprinted: true}
	read, ok := item.parsed()
	if !ok {
		return item, meta, false
	}
	return item, read.meta, true
}

// explodedItems returns the entries of a List as separate documents.
func explodedItems(chunk []byte) (items []textItem, metas []object.Meta, ok bool) {
	read, err := readTree(chunk)
	if err != nil || read.list != nil || !read.exploded {
		return nil, nil, false
	}
	for _, one := range read.items {
		printed, err := tree.Encode(one.document)
		if err != nil {
			return nil, nil, false
		}
		items, metas = append(items, textItem{text: printed, reprinted: true}), append(metas, one.meta)
	}
	return items, metas, true
}

// parsed returns the resource as a tree. The tree is not cached, since a large
// stream has many.
func (t *textItem) parsed() (item, bool) {
	if t.column > 0 {
		return t.parsedEntry()
	}
	read, err := readTree(t.text)
	if err != nil || read.list != nil || read.exploded || len(read.items) != 1 {
		return item{}, false
	}
	return read.items[0], true
}

// parsedEntry returns the resource of an entry of a ResourceList, without the
// comment above it.
func (t *textItem) parsedEntry() (item, bool) {
	root, ok := tree.ParseOne(t.text[t.dash():])
	if !ok || root.Kind != yaml.SequenceNode || len(root.Content) != 1 || tree.HasOuterAlias(root.Content[0]) {
		return item{}, false
	}
	list := &Tree{}
	if err := tree.IsolateAliases(root, root.Content); err != nil || list.add(root.Content[0], root.Content[0], "item") != nil {
		return item{}, false
	}
	return list.items[0], true
}

// dash returns the offset of the entry's own line, after the comment above it.
func (t *textItem) dash() int {
	at := 0
	for line := range bytes.Lines(t.text) {
		if indented := bytes.TrimLeft(line, " "); len(indented) > 0 && indented[0] == '-' {
			break
		}
		at += len(line)
	}
	return at
}

// reprint returns the text with the change, as printed by the YAML encoder.
func (t *textItem) reprint(c Change) ([][]byte, error) {
	if len(c.Set) == 0 && len(c.Remove) == 0 && bytes.HasSuffix(t.text, []byte("\n")) {
		return [][]byte{t.before, t.text}, nil
	}
	read, ok := t.parsed()
	if !ok {
		return nil, ErrNotPlain
	}
	c.Apply(read.body)
	if t.column == 0 {
		printed, err := tree.Encode(read.document)
		return [][]byte{t.before, printed}, err
	}
	printed, err := tree.Encode(read.body)
	if err != nil {
		return nil, err
	}
	entry := indented(printed, t.column)
	back, ok := tree.ParseOne(entry)
	if !ok || back.Kind != yaml.SequenceNode || len(back.Content) != 1 || !tree.SameContent(back.Content[0], read.body) {
		return nil, ErrNotPlain
	}
	return [][]byte{t.text[:t.dash()], entry}, nil
}

// indented turns a document into an entry of a list with its keys at column.
func indented(document []byte, column int) []byte {
	var out bytes.Buffer
	indent := bytes.Repeat([]byte(" "), column)
	for line := range bytes.Lines(document) {
		switch {
		case out.Len() == 0:
			out.Write(indent[:column-2])
			out.WriteString("- ")
		case len(line) > 1:
			out.Write(indent)
		}
		out.Write(line)
	}
	return out.Bytes()
}

// textItem is the text of a resource with the positions of its annotations.
type textItem struct {
	before []byte // comments above it, from separate documents
	text   []byte
	first  int // number of its first line, as nodes count

	at     int // where new annotations are inserted: after the line of annotations, or of metadata
	indent int // of annotation keys, in columns

	annotations span            // line of the key annotations; empty if there is none
	ours        map[string]span // lines of annotations that a run may change
	others      int             // number of annotations that no run changes
	alone       bool            // metadata has no other fields than annotations

	column    int  // of the keys; 0 in a document
	reprinted bool // cannot be edited by lines: printed by the encoder if it changes
}

// span is a range of bytes of a text.
type span struct{ from, to int }

// isBlank reports whether the chunk consists of spaces and newlines. Other
// white space is significant in YAML.
func isBlank(chunk []byte) bool { return len(bytes.TrimLeft(chunk, " \n")) == 0 }
