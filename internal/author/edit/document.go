package edit

import (
	"bytes"
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/ordapply/ordapply/internal/author/keys"
	"github.com/ordapply/ordapply/internal/text/tree"
)

// document is the text of a resource with the positions of its annotations.
type document struct {
	before    []byte // comments above it, from separate documents
	text      []byte
	reprinted bool // cannot be edited as text: printed from its nodes if it changes

	at     int // where new annotations are inserted: after the line of annotations, or of metadata
	indent int // of annotation keys, in columns

	annotations span            // line of the key annotations; empty if there is none
	ours        map[string]span // lines of annotations that a run may change
	others      int             // number of annotations that no run changes
	alone       bool            // metadata has no other fields than annotations
}

// span is a range of bytes of a text.
type span struct{ from, to int }

// plainBytes reports whether every line ends in a newline and no other
// characters break lines or documents.
func plainBytes(in []byte) bool {
	for _, odd := range []string{"\r", "\ufeff", "\u0085", "\u2028", "\u2029", "\n...", "\n%"} {
		if bytes.Contains(in, []byte(odd)) {
			return false
		}
	}
	return bytes.HasSuffix(in, []byte("\n")) && !bytes.HasPrefix(in, []byte("%")) && !bytes.HasPrefix(in, []byte("..."))
}

// isPlain reports whether a mapping is in block style with its keys at column,
// all plain scalars without tags or duplicates.
func isPlain(node *yaml.Node, column int) bool {
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

// locate finds the positions of annotations, and reports whether they can be edited as text.
func (d *document) locate(body *yaml.Node) bool {
	key, metadata := tree.Entry(body, "metadata")
	if key == nil || tree.HasTags(metadata) || metadata.Line <= key.Line || len(metadata.Content) == 0 ||
		!isPlain(metadata, metadata.Content[0].Column-1) {
		return false
	}
	line := d.line(key.Line)
	if !d.begins(line, key.Column, "metadata:") || !d.blankBefore(metadata.Content[0]) {
		return false
	}
	d.at, d.indent = line.to, metadata.Content[0].Column-1
	key, annotations := tree.Entry(metadata, "annotations")
	if key == nil {
		return true
	}
	return d.locateAnnotations(key, annotations, len(metadata.Content) == 2)
}

func (d *document) locateAnnotations(key, all *yaml.Node, alone bool) bool {
	if all.Line <= key.Line || len(all.Content) == 0 || !isPlain(all, all.Content[0].Column-1) {
		return false
	}
	d.annotations, d.alone = d.line(key.Line), alone
	if !d.begins(d.annotations, key.Column, "annotations:") || !d.blankBefore(all.Content[0]) {
		return false
	}
	d.at, d.indent, d.ours = d.annotations.to, all.Content[0].Column-1, map[string]span{}
	for i := 0; i < len(all.Content); i += 2 {
		key, value := all.Content[i], all.Content[i+1]
		if !keys.IsWritten(key.Value) {
			d.others++
			continue
		}
		line := d.line(key.Line)
		if !d.isLineOf(line, key.Value, value.Value) {
			return false
		}
		d.ours[key.Value] = line
	}
	return true
}

// line returns a line by its node's number, including the newline.
func (d *document) line(number int) span {
	from := 0
	for range number - 1 {
		from += bytes.IndexByte(d.text[from:], '\n') + 1
	}
	return span{from, from + bytes.IndexByte(d.text[from:], '\n') + 1}
}

// begins reports whether the line has this word at column, counted from 1,
// followed by a space or the end of the line.
func (d *document) begins(line span, column int, word string) bool {
	text := d.text[line.from:line.to]
	if len(text) < column {
		return false
	}
	rest, found := bytes.CutPrefix(text[column-1:], []byte(word))
	return found && (rest[0] == ' ' || rest[0] == '\n')
}

// blankBefore reports whether only spaces precede the node in its line.
func (d *document) blankBefore(node *yaml.Node) bool {
	line := d.line(node.Line)
	text := d.text[line.from:line.to]
	return len(text) >= node.Column && isBlank(text[:node.Column-1])
}

// isLineOf reports whether the line consists of the key and its value only.
func (d *document) isLineOf(line span, key, value string) bool {
	text := string(d.text[line.from:line.to])
	begin := strings.Repeat(" ", d.indent) + key + ": "
	return text == begin+value+"\n" || text == begin+`"`+value+"\"\n" || text == begin+"'"+value+"'\n"
}

// changed returns the text with the annotations changed: existing ones in place, new ones
// before all others.
func (d *document) changed(c Change) (Text, error) {
	if d.isUnchanged(c) {
		return Text{d.before, d.text}, nil
	}
	edits, ok := d.edits(c)
	if !ok {
		return d.reprint(c)
	}
	slices.SortFunc(edits, func(a, b edit) int { return cmp.Or(a.from-b.from, a.to-b.to) })
	pieces := append(make(Text, 0, 2*len(edits)+2), d.before)
	at := 0
	for _, e := range edits {
		pieces = append(pieces, d.text[at:e.from], []byte(e.with))
		at = e.to
	}
	return append(pieces, d.text[at:]), nil
}

func (d *document) isUnchanged(c Change) bool {
	return len(c.Set) == 0 && len(c.Remove) == 0 && bytes.HasSuffix(d.text, []byte("\n"))
}

// edit replaces a range of the text.
type edit struct {
	span
	with string
}

// edits returns the edits that make the change; ok is false if text edits cannot make it.
func (d *document) edits(c Change) (edits []edit, ok bool) {
	if d.reprinted {
		return nil, false
	}
	var added strings.Builder
	indent := strings.Repeat(" ", d.indent)
	if d.annotations.to == 0 && len(c.Set) > 0 {
		added.WriteString(indent + "annotations:\n")
		indent += "  "
	}
	left := d.others + len(d.ours)
	for _, key := range slices.Sorted(maps.Keys(c.Set)) {
		line := indent + key + ": " + rendered(c.Set[key]) + "\n"
		if at, there := d.ours[key]; there {
			edits = append(edits, edit{at, line})
			continue
		}
		added.WriteString(line)
		left++
	}
	for _, key := range c.Remove {
		at, there := d.ours[key]
		if !there {
			return nil, false
		}
		edits = append(edits, edit{at, ""})
		left--
	}
	if left == 0 && len(c.Remove) > 0 {
		if d.alone {
			return nil, false
		}
		edits = append(edits, edit{d.annotations, ""})
	}
	return append(edits, edit{span{d.at, d.at}, added.String()}), true
}

// rendered returns a value as written after its key.
func rendered(value string) string {
	if tree.NeedsQuotes(value) {
		return strconv.Quote(value)
	}
	return value
}

// reprint returns the document with the change, as printed by the YAML encoder.
func (d *document) reprint(c Change) (Text, error) {
	root, err := d.parse()
	if err != nil {
		return nil, err
	}
	c.apply(root.Content[0])
	printed, err := tree.Encode(root)
	return Text{d.before, printed}, err
}

// parse returns the document as a node, in which a change of the annotations changes nothing
// else.
func (d *document) parse() (*yaml.Node, error) {
	roots, err := tree.ParseChunk(d.text)
	if err != nil {
		return nil, err
	}
	return roots[0], expandShared(roots[0])
}

// expandShared expands the aliases of a document if its metadata depends on one.
func expandShared(root *yaml.Node) error {
	if tree.SharesMetadata(root.Content[0]) {
		return tree.ExpandAliases(root)
	}
	return nil
}
