package edit

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/fn/framework"
	"sigs.k8s.io/kustomize/kyaml/kio"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/ordapply/ordapply/internal/limits"
	"github.com/ordapply/ordapply/internal/text/tree"
	"github.com/ordapply/ordapply/object"
)

// Tree is input parsed into nodes by kyaml, which accepts everything that
// kustomize and kpt accept. It is printed from the nodes.
type Tree struct {
	list     *yaml.Node // the ResourceList, a mapping; nil for a plain stream
	items    []item
	exploded bool // a List was split into its entries
}

// item is a resource of a stream.
type item struct {
	document *yaml.Node // the node to print: the document with its comments, or the body
	body     *yaml.Node // the resource, a mapping
	meta     object.Meta
}

// readTree parses YAML or JSON. Every item of the result is a mapping.
func readTree(in []byte) (*Tree, error) {
	documents, err := tree.ParseAll(in)
	if err != nil {
		return nil, err
	}
	t := &Tree{}
	total := 0 // bytes that aliases repeat
	for i, document := range documents {
		where := fmt.Sprintf("document %d", i+1)
		repeated, err := tree.CheckAliases(document)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", where, err)
		}
		if total += repeated; total > limits.StreamAliases {
			return nil, fmt.Errorf("the aliases of its documents expand to more than %d MiB: replace aliases with their values", limits.StreamAliases>>20)
		}
		if tree.HasAlias(document.Content[0]) {
			if err := tree.ExpandAliases(document); err != nil {
				return nil, fmt.Errorf("%s: %w", where, err)
			}
		}
		add := t.addDocument
		if len(documents) == 1 && tree.KindOf(document.Content[0]) == kio.ResourceListKind {
			add = t.addList
		}
		if err := add(document, where); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// addDocument adds a document of a plain stream: a resource, or a List, which
// is replaced by its entries as in kustomize.
func (t *Tree) addDocument(document *yaml.Node, where string) error {
	body := document.Content[0]
	if tree.KindOf(body) == kio.ResourceListKind {
		return fmt.Errorf("%s is a ResourceList among other documents: pass it alone", where)
	}
	if !isExploded(body) {
		if err := tree.IsolateAliases(body, []*yaml.Node{body}); err != nil {
			return fmt.Errorf("%s: %w", where, err)
		}
		return t.add(document, body, where)
	}
	if err := tree.ExpandAliases(body); err != nil {
		return fmt.Errorf("%s: %w", where, err)
	}
	return t.explode(body, where, 1)
}

// isExploded reports whether a document is a List, typed or not.
func isExploded(body *yaml.Node) bool {
	return strings.HasSuffix(tree.KindOf(body), "List") && tree.Field(body, "items") != nil
}

// explode adds the entries of a List, recursively; depth is the number of Lists that one is
// in, itself included. An entry of a typed List may omit apiVersion and kind.
func (t *Tree) explode(list *yaml.Node, where string, depth int) error {
	if depth > limits.ListDepth {
		return fmt.Errorf("%s: more than %d Lists are inside one another: put their items in one List", where, limits.ListDepth)
	}
	items := tree.Field(list, "items")
	t.exploded = true
	if tree.IsNull(items) {
		return nil
	}
	if items.Kind != yaml.SequenceNode {
		return fmt.Errorf("%s: items of %s is not a list", where, tree.KindOf(list))
	}
	for i, entry := range items.Content {
		at := fmt.Sprintf("%s, items[%d]", where, i)
		inheritKind(entry, list)
		if isExploded(entry) {
			if err := t.explode(entry, at, depth+1); err != nil {
				return err
			}
		} else if err := t.add(entry, entry, at); err != nil {
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

// addList adds the items of a ResourceList. Lists among them are not split,
// since the caller expects the same items back.
func (t *Tree) addList(document *yaml.Node, _ string) error {
	t.list = document.Content[0]
	items := tree.Field(t.list, "items")
	if tree.IsNull(items) {
		return nil
	}
	if items.Anchor != "" {
		if err := tree.ExpandAliases(t.list); err != nil {
			return err
		}
		items = tree.Field(t.list, "items")
	}
	if items.Kind != yaml.SequenceNode {
		return errors.New("items of the ResourceList is not a list")
	}
	if err := tree.IsolateAliases(t.list, items.Content); err != nil {
		return err
	}
	for i, entry := range tree.Field(t.list, "items").Content {
		if err := t.add(entry, entry, fmt.Sprintf("items[%d]", i)); err != nil {
			return err
		}
	}
	return nil
}

// add adds a resource. document is the node to print, body the mapping in it.
func (t *Tree) add(document, body *yaml.Node, where string) error {
	if body.Kind != yaml.MappingNode {
		return fmt.Errorf("%s is not a resource: expected a map with apiVersion, kind and metadata", where)
	}
	m, err := tree.MetaOf(body)
	if err != nil {
		return fmt.Errorf("%s: %w", where, err)
	}
	t.items = append(t.items, item{document: document, body: body, meta: m})
	return nil
}

// Body returns a resource as a YAML mapping, which may be changed.
func (t *Tree) Body(i int) *yaml.Node { return t.items[i].body }

// WithItems prints the ResourceList with other items, and with results added to its own.
func (t *Tree) WithItems(items []*yaml.Node, results []*framework.Result) (Text, error) {
	tree.SetField(t.list, "items", &yaml.Node{Kind: yaml.SequenceNode, Tag: yaml.NodeTagSeq, Content: items})
	return t.printList(results)
}

// printList prints the ResourceList with results added to its own.
func (t *Tree) printList(results []*framework.Result) (Text, error) {
	if err := addResults(t.list, results); err != nil {
		return nil, err
	}
	printed, err := tree.Encode(t.list)
	return Text{printed}, err
}

// ReadList reads a ResourceList that is parsed already.
func ReadList(list *yaml.Node) (*Tree, error) {
	t := &Tree{}
	return t, t.addList(&yaml.Node{Kind: yaml.DocumentNode, Content: []*yaml.Node{list}}, "")
}

// IsList implements Input.
func (t *Tree) IsList() bool { return t.list != nil }

// Metas implements Input.
func (t *Tree) Metas() []object.Meta {
	out := make([]object.Meta, len(t.items))
	for i, item := range t.items {
		out[i] = item.meta
	}
	return out
}

// Object implements Input.
func (t *Tree) Object(i int) map[string]any { return objectOf(t.items[i].body) }

// Config implements Input.
func (t *Tree) Config() []byte { return functionConfig(t.list) }

// functionConfig returns the functionConfig of a ResourceList as YAML, or nil.
func functionConfig(list *yaml.Node) []byte {
	config := tree.Field(list, "functionConfig")
	if tree.IsNull(config) || len(config.Content) == 0 {
		return nil
	}
	text, _ := tree.Encode(config) // nil if it cannot be printed
	return text
}

// Unchanged implements Input.
func (t *Tree) Unchanged(results []*framework.Result) bool {
	if t.list == nil {
		return !t.exploded
	}
	missing, err := missingResults(t.list, results)
	return err == nil && len(missing) == 0
}

// Texts implements Input.
func (t *Tree) Texts(sorted []int, changes []Change) ([]Text, error) {
	out := make([]Text, 0, len(sorted))
	for _, i := range sorted {
		changes[i].Apply(t.items[i].body)
		printed, err := tree.Encode(t.items[i].document)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", t.items[i].meta.ID, err)
		}
		out = append(out, Text{printed})
	}
	return out, nil
}

// ResourceList implements Input.
func (t *Tree) ResourceList(sorted []int, changes []Change, results []*framework.Result) (Text, error) {
	ordered := make([]*yaml.Node, 0, len(sorted))
	for _, i := range sorted {
		changes[i].Apply(t.items[i].body)
		ordered = append(ordered, t.items[i].document)
	}
	if items := tree.Field(t.list, "items"); items != nil && len(ordered) > 0 {
		items.Content = ordered
	}
	return t.printList(results)
}
