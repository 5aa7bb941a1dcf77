package edit

import (
	"bytes"
	"cmp"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/ordapply/ordapply/internal/author/keys"
	"github.com/ordapply/ordapply/internal/text/tree"
	"github.com/ordapply/ordapply/object"
)

// newTextItem returns a parsed resource as text. column is the column of its
// keys, line the number of its first line in the parsed text. ok is false if
// its layout cannot be edited by lines.
func newTextItem(text []byte, body *yaml.Node, line, column int) (item textItem, meta object.Meta, ok bool) {
	if !plainMap(body, column) || tree.SharesMetadata(body) {
		return item, meta, false
	}
	meta, err := tree.MetaOf(body)
	if err != nil {
		return item, meta, false
	}
	item = textItem{text: text, first: line, column: column}
	return item, meta, item.locate(body)
}

// plainMap reports whether a mapping is in block style with its keys at column,
// all plain scalars without tags or duplicates.
func plainMap(node *yaml.Node, column int) bool {
	if node.Kind != yaml.MappingNode || node.Style != 0 || node.Column != column+1 || len(node.Content) == 0 {
		return false
	}
	seen := make(map[string]bool, len(node.Content)/2)
	for i := 0; i < len(node.Content); i += 2 {
		key := node.Content[i]
		if key.Kind != yaml.ScalarNode || key.Style&yaml.TaggedStyle != 0 || key.Column != column+1 || seen[key.Value] {
			return false
		}
		seen[key.Value] = true
	}
	return true
}

// locate finds the positions of annotations.
func (t *textItem) locate(body *yaml.Node) bool {
	key, metadata := tree.Entry(body, "metadata")
	if key == nil || tree.HasTags(metadata) || metadata.Line <= key.Line || len(metadata.Content) == 0 ||
		!plainMap(metadata, metadata.Content[0].Column-1) {
		return false
	}
	line := t.line(key.Line)
	if !t.begins(line, key.Column, "metadata:") || !t.blankBefore(metadata.Content[0]) {
		return false
	}
	t.at, t.indent = line.to, metadata.Content[0].Column-1
	key, annotations := tree.Entry(metadata, "annotations")
	if key == nil {
		return true
	}
	return t.locateAnnotations(key, annotations, len(metadata.Content) == 2)
}

func (t *textItem) locateAnnotations(key, all *yaml.Node, alone bool) bool {
	if all.Line <= key.Line || len(all.Content) == 0 || !plainMap(all, all.Content[0].Column-1) {
		return false
	}
	t.annotations, t.alone = t.line(key.Line), alone
	if !t.begins(t.annotations, key.Column, "annotations:") || !t.blankBefore(all.Content[0]) {
		return false
	}
	t.at, t.indent, t.ours = t.annotations.to, all.Content[0].Column-1, map[string]span{}
	for i := 0; i < len(all.Content); i += 2 {
		key, value := all.Content[i], all.Content[i+1]
		if !keys.IsWritten(key.Value) {
			t.others++
			continue
		}
		line := t.line(key.Line)
		if !t.isLineOf(line, key.Value, value.Value) {
			return false
		}
		t.ours[key.Value] = line
	}
	return true
}

// line returns a line by its node's number, including the newline.
func (t *textItem) line(number int) span {
	from := 0
	for range number - t.first {
		from += bytes.IndexByte(t.text[from:], '\n') + 1
	}
	return span{from, from + bytes.IndexByte(t.text[from:], '\n') + 1}
}

// begins reports whether the line has this word at column, counted from 1,
// followed by a space or the end of the line.
func (t *textItem) begins(line span, column int, word string) bool {
	text := t.text[line.from:line.to]
	if len(text) < column {
		return false
	}
	rest, found := bytes.CutPrefix(text[column-1:], []byte(word))
	return found && (rest[0] == ' ' || rest[0] == '\n')
}

// blankBefore reports whether only spaces precede the node in its line.
func (t *textItem) blankBefore(node *yaml.Node) bool {
	line := t.line(node.Line)
	text := t.text[line.from:line.to]
	return len(text) >= node.Column && isBlank(text[:node.Column-1])
}

// isLineOf reports whether the line consists of the key and its value only.
func (t *textItem) isLineOf(line span, key, value string) bool {
	text := string(t.text[line.from:line.to])
	begin := strings.Repeat(" ", t.indent) + key + ": "
	return text == begin+value+"\n" || text == begin+`"`+value+"\"\n" || text == begin+"'"+value+"'\n"
}

// edit replaces a range of the text.
type edit struct {
	span
	with string
}

// changed returns the text with the annotations changed, in pieces: existing
// ones in place, new ones before all others.
func (t *textItem) changed(c Change) ([][]byte, error) {
	if t.reprinted {
		return t.reprint(c)
	}
	edits, err := t.edits(c)
	if errors.Is(err, ErrNotPlain) {
		return t.reprint(c)
	}
	if err != nil {
		return nil, err
	}
	slices.SortFunc(edits, func(a, b edit) int { return cmp.Or(a.from-b.from, a.to-b.to) })
	pieces := append(make([][]byte, 0, 2*len(edits)+2), t.before)
	at := 0
	for _, e := range edits {
		pieces = append(pieces, t.text[at:e.from], []byte(e.with))
		at = e.to
	}
	return append(pieces, t.text[at:]), nil
}

func (t *textItem) edits(c Change) ([]edit, error) {
	var edits []edit
	var added strings.Builder
	header := t.annotations.to == 0 && len(c.Set) > 0
	indent := strings.Repeat(" ", t.indent)
	if header {
		added.WriteString(indent + "annotations:\n")
		indent += "  "
	}
	left := t.others + len(t.ours)
	for _, key := range slices.Sorted(maps.Keys(c.Set)) {
		line := indent + key + ": " + rendered(c.Set[key]) + "\n"
		if at, there := t.ours[key]; there {
			edits = append(edits, edit{at, line})
			continue
		}
		added.WriteString(line)
		left++
	}
	for _, key := range c.Remove {
		at, there := t.ours[key]
		if !there {
			return nil, ErrNotPlain
		}
		edits = append(edits, edit{at, ""})
		left--
	}
	if left == 0 && len(c.Remove) > 0 {
		if t.alone {
			return nil, ErrNotPlain
		}
		edits = append(edits, edit{t.annotations, ""})
	}
	return append(edits, edit{span{t.at, t.at}, added.String()}), nil
}

// rendered returns a value as written after its key.
func rendered(value string) string {
	if tree.NeedsQuotes(value) {
		return strconv.Quote(value)
	}
	return value
}
