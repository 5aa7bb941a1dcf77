package edit

import (
	"bytes"
	"slices"

	"sigs.k8s.io/kustomize/kyaml/fn/framework"
	"sigs.k8s.io/kustomize/kyaml/kio"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/ordapply/ordapply/internal/limits"
	"github.com/ordapply/ordapply/internal/text/tree"
	"github.com/ordapply/ordapply/object"
)

// textStream is input kept as text. It finds resources by lines, parses them in
// parts that must agree with the lines, and edits only the lines of stamps: no
// other byte changes. Input with another layout is handled by tree.
type textStream struct {
	root     *yaml.Node // the ResourceList without its items; nil for a plain stream
	head     []byte     // of a ResourceList, up to its items
	tail     []byte     // of a ResourceList, after its items; of a plain stream, trailing comments
	items    []textItem
	resolved []object.Meta
	exploded bool // a List was split into its entries
	repeated int  // bytes that aliases repeat
}

// readTextStream parses input with a plain layout; ok is false for other input.
func readTextStream(in []byte) (v *textStream, ok bool) {
	if !bytes.HasSuffix(in, []byte("\n")) {
		return nil, false
	}
	chunks, err := tree.Split(in)
	if err != nil {
		return nil, false
	}
	v = &textStream{}
	for i := range chunks {
		if chunks[i] = withoutSeparators(chunks[i]); bytes.HasPrefix(chunks[i], []byte("---")) {
			return nil, false
		}
	}
	if len(chunks) == 1 && hasLine(chunks[0], "kind: "+kio.ResourceListKind) {
		return v, v.addList(chunks[0])
	}
	var comments []byte // documents with comments only belong to the next resource
	for _, chunk := range chunks {
		switch {
		case isBlank(chunk):
		case isComment(chunk):
			comments = append(comments, chunk...)
		default:
			items, metas, ok := v.document(chunk)
			if !ok {
				return nil, false
			}
			items[0].before, comments = comments, nil
			v.items, v.resolved = append(v.items, items...), append(v.resolved, metas...)
		}
	}
	v.tail = comments
	return v, true
}

// document parses a document of a plain stream: a resource, or the entries of a
// List.
func (v *textStream) document(chunk []byte) (items []textItem, metas []object.Meta, ok bool) {
	if !plainBytes(chunk) {
		if body, ok := tree.ParseOne(chunk); ok && !v.countAliases(chunk, body) {
			return nil, nil, false
		}
		item, meta, ok := newReprintedItem(chunk, 0)
		return []textItem{item}, []object.Meta{meta}, ok
	}
	body, ok := tree.ParseOne(chunk)
	if !ok || !v.countAliases(chunk, body) {
		return nil, nil, false
	}
	if isExploded(body) {
		v.exploded = true
		items, metas, ok = explodedItems(chunk)
		return items, metas, ok && len(items) > 0
	}
	item, meta, ok := newTextItem(chunk, body, 1, 0)
	if ok {
		return []textItem{item}, []object.Meta{meta}, true
	}
	if meta, err := tree.MetaOf(body); err == nil && body.Kind == yaml.MappingNode && !tree.SharesMetadata(body) && tree.KindOf(body) != kio.ResourceListKind && tree.Failure(chunk) == "" {
		return []textItem{{text: chunk, reprinted: true}}, []object.Meta{meta}, true
	}
	item, meta, ok = newReprintedItem(chunk, 0)
	return []textItem{item}, []object.Meta{meta}, ok
}

// countAliases counts the repetitions by aliases of a text, and reports whether all of the
// stream are within their limit.
func (v *textStream) countAliases(text []byte, node *yaml.Node) bool {
	if bytes.IndexByte(text, '&') < 0 {
		return true
	}
	repeated, err := tree.CheckAliases(node)
	v.repeated += repeated
	return err == nil && v.repeated <= limits.StreamAliases
}

// withoutSeparators removes the separators and blank lines at the start of a
// chunk.
func withoutSeparators(chunk []byte) []byte {
	chunk = bytes.TrimLeft(chunk, "\n")
	for bytes.HasPrefix(chunk, []byte("---\n")) {
		chunk = bytes.TrimLeft(chunk[len("---\n"):], "\n")
	}
	return chunk
}

// plainBytes reports whether every line ends in a newline and no other
// characters break lines or documents.
func plainBytes(in []byte) bool {
	for _, odd := range []string{"\r", "\ufeff", "\u0085", "\u2028", "\u2029", "\n...", "\n%"} {
		if bytes.Contains(in, []byte(odd)) {
			return false
		}
	}
	return !bytes.HasPrefix(in, []byte("%")) && !bytes.HasPrefix(in, []byte("..."))
}

func hasLine(chunk []byte, line string) bool {
	return bytes.Contains(chunk, []byte("\n"+line+"\n")) || bytes.HasPrefix(chunk, []byte(line+"\n"))
}

// isComment reports whether the chunk consists of YAML comments.
func isComment(chunk []byte) bool {
	for line := range bytes.Lines(chunk) {
		if !isBlank(line) && bytes.TrimLeft(line, " ")[0] != '#' {
			return false
		}
	}
	documents, err := tree.ParseAll(chunk)
	return err == nil && len(documents) == 0
}

// addList parses a ResourceList in block style: keys at the start of lines, and
// below items a dash for each item, all in one column.
func (v *textStream) addList(chunk []byte) bool {
	found, ok := findItems(chunk)
	if !ok || !plainBytes(chunk) {
		return false
	}
	v.head, v.tail = chunk[:found.from], chunk[found.to:]
	skeleton, err := tree.ParseAll(slices.Concat(v.head, v.tail))
	if err != nil || len(skeleton) != 1 {
		return false
	}
	v.root = skeleton[0].Content[0]
	if !plainMap(v.root, 0) || tree.KindOf(v.root) != kio.ResourceListKind || tree.HasAnchors(v.root) || !tree.IsNull(tree.Field(v.root, "items")) {
		return false
	}
	v.items, v.resolved = make([]textItem, 0, len(found.starts)), make([]object.Meta, 0, len(found.starts))
	for n := 0; n < len(found.starts); {
		last := n + 1
		for last < len(found.starts) && found.end(last)-found.starts[n] < runLength {
			last++
		}
		if !v.addRun(chunk, found, n, last) {
			return false
		}
		n = last
	}
	return true
}

// runLength is the number of bytes of items parsed at once. Starting a parser
// costs as much as parsing a small item.
const runLength = 64 << 10

// addRun parses the items from n up to last as one sequence.
func (v *textStream) addRun(chunk []byte, found itemLines, n, last int) bool {
	run := chunk[found.starts[n]:found.end(last-1)]
	sequence, ok := tree.ParseOne(run)
	if !ok || !v.countAliases(run, sequence) || sequence.Kind != yaml.SequenceNode || sequence.Style != 0 || sequence.Column != found.column-1 || len(sequence.Content) != last-n {
		return false
	}
	anchors := bytes.IndexByte(run, '&') >= 0
	line := 1
	for i, body := range sequence.Content {
		text := chunk[found.starts[n+i]:found.end(n+i)]
		next := line + bytes.Count(text, []byte("\n"))
		if body.Line < line || body.Line >= next || anchors && tree.HasOuterAlias(body) {
			return false
		}
		item, meta, ok := newTextItem(text, body, line, found.column)
		if !ok {
			item, meta, ok = newReprintedItem(text, found.column)
		}
		if !ok {
			return false
		}
		v.items, v.resolved = append(v.items, item), append(v.resolved, meta)
		line = next
	}
	return true
}

// itemLines are the positions of the items in a ResourceList's text.
type itemLines struct {
	from, to int
	starts   []int // of each item, including the comment above it
	column   int   // of the text after the dash
}

// findItems looks only at the start of lines. Block scalars are indented
// deeper; quoted scalars could confuse it, but then the parts do not parse.
func findItems(chunk []byte) (found itemLines, ok bool) {
	const none = -1
	found.from = none
	comment, at := none, 0
	var dash []byte // start of every item's first line
	for line := range bytes.Lines(chunk) {
		indented := bytes.TrimLeft(line, " ")
		indent := len(line) - len(indented)
		here := at
		at += len(line)
		switch {
		case found.from == none:
			if string(line) == "items:\n" {
				found.from = at
			}
		case len(indented) == 1: // blank lines belong to the item above, or to a comment
		case indented[0] == '#' && (dash == nil || indent < found.column):
			comment = firstOf(comment, here)
		case dash == nil && indented[0] == '-', dash != nil && bytes.HasPrefix(line, dash):
			if len(indented) < 3 || indented[1] != ' ' || indented[2] == ' ' {
				return found, false
			}
			dash, found.column = line[:indent+1], indent+2
			found.starts = append(found.starts, firstOf(comment, here))
			comment = none
		case indent == 0:
			found.to = firstOf(comment, here)
			return found, found.whole()
		case dash == nil, indent < found.column, indented[0] == '\t' && indent == found.column:
			return found, false
		default:
			comment = none
		}
	}
	found.to = firstOf(comment, at)
	return found, found.whole()
}

func (l itemLines) end(n int) int {
	if n+1 < len(l.starts) {
		return l.starts[n+1]
	}
	return l.to
}

// whole reports whether the items cover all lines between from and to.
func (l itemLines) whole() bool { return len(l.starts) > 0 && l.starts[0] == l.from }

// firstOf returns the start of the comment above, or here.
func firstOf(comment, here int) int {
	if comment >= 0 {
		return comment
	}
	return here
}

// PlainItems returns the texts of the resources if the input can be read by lines and
// every resource has a plain layout; else ok is false. Tests compare them.
func PlainItems(in []byte) (items []string, ok bool) {
	v, ok := readTextStream(withoutMarks(in))
	if !ok {
		return nil, false
	}
	for _, item := range v.items {
		if item.reprinted {
			return nil, false
		}
		items = append(items, string(item.before)+string(item.text))
	}
	return items, true
}

// IsList implements Input.
func (v *textStream) IsList() bool { return v.root != nil }

// Metas implements Input.
func (v *textStream) Metas() []object.Meta { return v.resolved }

// Object implements Input.
func (v *textStream) Object(i int) map[string]any {
	read, ok := v.items[i].parsed()
	if !ok {
		return nil
	}
	return objectOf(read.body)
}

// Config implements Input.
func (v *textStream) Config() []byte { return functionConfig(v.root) }

// Unchanged implements Input.
func (v *textStream) Unchanged(results []*framework.Result) bool {
	if v.root == nil {
		return true
	}
	if v.exploded {
		return false
	}
	missing, err := missingResults(v.root, results)
	return err == nil && len(missing) == 0
}

// Texts implements Input.
func (v *textStream) Texts(sorted []int, changes []Change) ([]Text, error) {
	out, err := v.changed(sorted, changes)
	if err == nil && len(v.tail) > 0 {
		out = append(out, Text{v.tail})
	}
	return out, err
}

func (v *textStream) changed(sorted []int, changes []Change) ([]Text, error) {
	out := make([]Text, 0, len(sorted)+1)
	for _, i := range sorted {
		item, err := v.items[i].changed(changes[i])
		if err != nil {
			return nil, err
		}
		out = append(out, item)
	}
	return out, nil
}

// ResourceList implements Input.
func (v *textStream) ResourceList(sorted []int, changes []Change, results []*framework.Result) (Text, error) {
	items, err := v.changed(sorted, changes)
	if err != nil {
		return nil, err
	}
	added, err := v.addedResults(results)
	if err != nil {
		return nil, err
	}
	pieces := make(Text, 0, 8*len(items)+3)
	pieces = append(pieces, v.head)
	for _, item := range items {
		pieces = append(pieces, item...)
	}
	return append(pieces, v.tail, added), nil
}

// addedResults returns the text of the results to add.
func (v *textStream) addedResults(results []*framework.Result) ([]byte, error) {
	missing, err := missingResults(v.root, results)
	if err != nil || len(missing) == 0 {
		return nil, err
	}
	if tree.Field(v.root, "results") != nil {
		return nil, ErrNotPlain
	}
	added := &yaml.Node{Kind: yaml.MappingNode, Tag: yaml.NodeTagMap}
	tree.SetField(added, "results", &yaml.Node{Kind: yaml.SequenceNode, Tag: yaml.NodeTagSeq, Content: missing})
	return tree.Encode(added)
}
