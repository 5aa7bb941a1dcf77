package edit

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/kio"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/ordapply/ordapply/internal/limits"
	"github.com/ordapply/ordapply/internal/text/tree"
	"github.com/ordapply/ordapply/object"
)

// Stream is a stream of YAML documents or JSON values, as the texts of its resources. The
// entries of Lists, typed or not, are resources of their own, as in kustomize.
type Stream struct {
	documents []document
	metas     []object.Meta
	comments  []byte // documents of only comments, which belong to the next resource
	exploded  bool   // a List was split into its entries
	count     int    // of documents that are not only comments
	repeated  int    // bytes that aliases repeat
}

// Read parses a stream as kubectl, kustomize and kpt do. It returns an error for a document
// that is not a resource, with its position. The input is UTF-8 as Decode returns it.
func Read(in []byte) (*Stream, error) {
	chunks, err := tree.Split(withoutMarks(in))
	if err != nil {
		return nil, err
	}
	s := &Stream{documents: make([]document, 0, len(chunks)), metas: make([]object.Meta, 0, len(chunks))}
	for i, chunk := range chunks {
		chunk = withoutSeparators(chunk)
		nodes, err := tree.ParseChunk(chunk)
		if err != nil {
			return nil, fmt.Errorf("document %d: %w", i+1, err)
		}
		if err := s.add(chunk, nodes); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// Metas returns the metadata of the resources in input order.
func (s *Stream) Metas() []object.Meta { return s.metas }

// Body returns a resource as a YAML mapping without aliases to other documents. It parses
// the resource anew, since a large stream has many.
func (s *Stream) Body(i int) *yaml.Node {
	root, err := s.documents[i].parse()
	if err != nil {
		return nil
	}
	return root.Content[0]
}

// IsExploded reports whether the entries of a List became documents.
func (s *Stream) IsExploded() bool { return s.exploded }

// Texts returns the resources in the given order with the changes applied, each a document
// that ends in a newline, followed by the comments at the end of the stream.
func (s *Stream) Texts(sorted []int, changes []Change) ([]Text, error) {
	out := make([]Text, 0, len(sorted)+1)
	for _, i := range sorted {
		text, err := s.documents[i].changed(changes[i])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.metas[i].ID, err)
		}
		out = append(out, text)
	}
	if len(s.comments) > 0 {
		out = append(out, Text{s.comments})
	}
	return out, nil
}

// add adds the documents of a chunk: usually one, whose text the chunk is.
func (s *Stream) add(chunk []byte, nodes []*yaml.Node) error {
	if len(nodes) == 0 && isComment(chunk) {
		s.comments = append(slices.Clip(s.comments), chunk...)
	}
	for _, root := range nodes {
		s.count++
		where := fmt.Sprintf("document %d", s.count)
		if bytes.IndexByte(chunk, '&') >= 0 {
			if err := s.countAliases(root, where); err != nil {
				return err
			}
		}
		var err error
		switch body := root.Content[0]; {
		case tree.KindOf(body) == kio.ResourceListKind:
			err = fmt.Errorf("%s is a ResourceList among other documents: pass it alone", where)
		case isList(body):
			err = s.addEntries(root, where, 1)
		case len(nodes) > 1 || bytes.HasPrefix(chunk, []byte("---")):
			err = s.addPrinted(root, where)
		default:
			err = s.addText(chunk, root, where)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// countAliases counts the repetitions by aliases. It is an error if a document or all have
// too many.
func (s *Stream) countAliases(root *yaml.Node, where string) error {
	repeated, err := tree.CheckAliases(root)
	if err != nil {
		return fmt.Errorf("%s: %w", where, err)
	}
	if s.repeated += repeated; s.repeated > limits.StreamAliases {
		return fmt.Errorf("the aliases of its documents expand to more than %d MiB: replace aliases with their values", limits.StreamAliases>>20)
	}
	return nil
}

// addText adds a document with its text.
func (s *Stream) addText(text []byte, root *yaml.Node, where string) error {
	d := document{before: s.comments, text: text}
	d.reprinted = !plainBytes(text) || !isPlain(root.Content[0], 0) || tree.SharesMetadata(root.Content[0])
	if err := expandShared(root); err != nil {
		return fmt.Errorf("%s: %w", where, err)
	}
	meta, err := Meta(root.Content[0])
	if err != nil {
		return fmt.Errorf("%s %w", where, err)
	}
	d.reprinted = d.reprinted || !d.locate(root.Content[0])
	s.documents, s.metas, s.comments = append(s.documents, d), append(s.metas, meta), nil
	return nil
}

// addPrinted adds a document that has no text of its own.
func (s *Stream) addPrinted(root *yaml.Node, where string) error {
	text, err := tree.Encode(root)
	if err != nil {
		return fmt.Errorf("%s: %w", where, err)
	}
	printed, err := tree.ParseChunk(text)
	if err != nil {
		return fmt.Errorf("%s: %w", where, err)
	}
	return s.addText(text, printed[0], where)
}

// isList reports whether a document is a List, typed or not.
func isList(body *yaml.Node) bool {
	return strings.HasSuffix(tree.KindOf(body), "List") && tree.Field(body, "items") != nil
}

// addEntries adds the entries of a List, recursively; depth is the number of Lists that one
// is in, itself included. An entry of a typed List may omit apiVersion and kind.
func (s *Stream) addEntries(root *yaml.Node, where string, depth int) error {
	if depth > limits.ListDepth {
		return fmt.Errorf("%s: more than %d Lists are inside one another: put their items in one List", where, limits.ListDepth)
	}
	if err := tree.ExpandAliases(root); err != nil {
		return fmt.Errorf("%s: %w", where, err)
	}
	s.exploded = true
	list := root
	if root.Kind == yaml.DocumentNode {
		list = root.Content[0]
	}
	items := tree.Field(list, "items")
	if tree.IsNull(items) {
		return nil
	}
	if items.Kind != yaml.SequenceNode {
		return fmt.Errorf("%s: items of %s is not a list", where, tree.KindOf(list))
	}
	for i, entry := range items.Content {
		at := fmt.Sprintf("%s, items[%d]", where, i)
		inheritKind(entry, list)
		add := s.addPrinted
		if isList(entry) {
			add = func(entry *yaml.Node, at string) error { return s.addEntries(entry, at, depth+1) }
		}
		if err := add(entry, at); err != nil {
			return err
		}
	}
	return nil
}

// inheritKind sets the kind of an entry without one, from its List.
func inheritKind(entry, list *yaml.Node) {
	kind := strings.TrimSuffix(tree.KindOf(list), "List")
	if entry.Kind != yaml.MappingNode || kind == "" || tree.Field(entry, "kind") != nil {
		return
	}
	apiVersion, _ := tree.TextOf(list, "apiVersion") // "" if it is not a string
	var head []*yaml.Node
	if apiVersion != "" && tree.Field(entry, "apiVersion") == nil {
		head = append(head, tree.Plain("apiVersion"), tree.Plain(apiVersion))
	}
	entry.Content = slices.Concat(head, []*yaml.Node{tree.Plain("kind"), tree.Plain(kind)}, entry.Content)
}

// ErrNotAMap continues a sentence that begins with the place of a document or item.
var ErrNotAMap = errors.New("is not a resource: expected a map with apiVersion, kind and metadata")

// Meta returns the metadata of a resource. An error continues a sentence that begins with
// the place of the resource.
func Meta(body *yaml.Node) (object.Meta, error) {
	if body.Kind != yaml.MappingNode {
		return object.Meta{}, ErrNotAMap
	}
	meta, err := tree.MetaOf(body)
	switch {
	case err != nil:
		return meta, fmt.Errorf("is not a resource: %w", err)
	case meta.Kind == "" || meta.Version == "":
		return meta, errors.New("is not a resource: it has no apiVersion or no kind")
	}
	return meta, nil
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

// isComment reports whether the chunk, which has no content, consists of comments and blank
// lines, and not of an empty document such as null.
func isComment(chunk []byte) bool {
	for line := range bytes.Lines(chunk) {
		if !isBlank(line) && bytes.TrimLeft(line, " ")[0] != '#' {
			return false
		}
	}
	return !isBlank(chunk)
}

// isBlank reports whether the chunk consists of spaces and newlines. Other
// white space is significant in YAML.
func isBlank(chunk []byte) bool { return len(bytes.TrimLeft(chunk, " \n")) == 0 }
