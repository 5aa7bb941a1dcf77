package fn

import (
	"bytes"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/ordapply/ordapply/object"
)

// newAnewItem takes a resource that is not plainly laid out, or of which annotations
// stand where lines cannot change them. Where something of it changes, it alone is
// printed anew; else its text stays.
func newAnewItem(text []byte, column int) (item textItem, meta object.Meta, ok bool) {
	item = textItem{text: text, column: column, anew: true}
	read, ok := item.parsed()
	if !ok {
		return item, meta, false
	}
	return item, read.meta, true
}

// explodedItems are the entries of a List, as documents of their own.
func explodedItems(chunk []byte) (items []textItem, metas []object.Meta, ok bool) {
	read, err := readTree(chunk)
	if err != nil || read.list != nil || !read.exploded {
		return nil, nil, false
	}
	for _, one := range read.items {
		printed, err := encode(one.document)
		if err != nil {
			return nil, nil, false
		}
		items, metas = append(items, textItem{text: printed, anew: true}), append(metas, one.meta)
	}
	return items, metas, true
}

// parsed is the resource of the text as a tree, which is not kept: a large stream has
// many.
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

// parsedEntry is the resource of an entry of a ResourceList, without the comment above
// it.
func (t *textItem) parsedEntry() (item, bool) {
	root, ok := parseAlone(t.text[t.dash():])
	if !ok || root.Kind != yaml.SequenceNode || len(root.Content) != 1 || reachesOut(root.Content[0]) {
		return item{}, false
	}
	list := &tree{}
	if err := detach(root, root.Content); err != nil || list.add(root.Content[0], root.Content[0], "item") != nil {
		return item{}, false
	}
	return list.items[0], true
}

// dash is where the entry's own line begins, behind the comment above it.
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

// printedAnew is the text with the change, by the printer.
func (t *textItem) printedAnew(c Change) ([][]byte, error) {
	if len(c.Set) == 0 && len(c.Remove) == 0 && bytes.HasSuffix(t.text, []byte("\n")) {
		return [][]byte{t.before, t.text}, nil
	}
	read, ok := t.parsed()
	if !ok {
		return nil, errNotPlain
	}
	c.apply(read.body)
	if t.column == 0 {
		printed, err := encode(read.document)
		return [][]byte{t.before, printed}, err
	}
	printed, err := encode(read.body)
	if err != nil {
		return nil, err
	}
	entry := indented(printed, t.column)
	back, ok := parseAlone(entry)
	if !ok || back.Kind != yaml.SequenceNode || len(back.Content) != 1 || !sameContent(back.Content[0], read.body) {
		return nil, errNotPlain
	}
	return [][]byte{t.text[:t.dash()], entry}, nil
}

// indented makes a document an entry of a list, its keys in the column.
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
