package fn

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/kio"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/ordapply/ordapply/object"
)

// tree is input parsed into nodes by kyaml, which accepts everything that
// kustomize and kpt accept. It is printed from the nodes.
type tree struct {
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
func readTree(in []byte) (*tree, error) {
	documents, err := parseDocuments(in)
	if err != nil {
		return nil, err
	}
	t := &tree{}
	for i, document := range documents {
		where := fmt.Sprintf("document %d", i+1)
		if err := checkAliases(document); err != nil {
			return nil, fmt.Errorf("%s: %w", where, err)
		}
		if hasAlias(document.Content[0]) {
			if err := expandAliases(document); err != nil {
				return nil, fmt.Errorf("%s: %w", where, err)
			}
		}
		add := t.addDocument
		if len(documents) == 1 && kindOf(document.Content[0]) == kio.ResourceListKind {
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
func (t *tree) addDocument(document *yaml.Node, where string) error {
	body := document.Content[0]
	if kindOf(body) == kio.ResourceListKind {
		return fmt.Errorf("%s is a ResourceList among other documents: pass it alone", where)
	}
	if !isExploded(body) {
		if err := isolateAliases(body, []*yaml.Node{body}); err != nil {
			return fmt.Errorf("%s: %w", where, err)
		}
		return t.add(document, body, where)
	}
	if err := expandAliases(body); err != nil {
		return fmt.Errorf("%s: %w", where, err)
	}
	return t.explode(body, where)
}

// isExploded reports whether a document is a List, typed or not.
func isExploded(body *yaml.Node) bool {
	return strings.HasSuffix(kindOf(body), "List") && field(body, "items") != nil
}

// explode adds the entries of a List, recursively. An entry of a typed List may
// omit apiVersion and kind.
func (t *tree) explode(list *yaml.Node, where string) error {
	items := field(list, "items")
	t.exploded = true
	if isNull(items) {
		return nil
	}
	if items.Kind != yaml.SequenceNode {
		return fmt.Errorf("%s: items of %s is not a list", where, kindOf(list))
	}
	for i, entry := range items.Content {
		at := fmt.Sprintf("%s, items[%d]", where, i)
		inheritKind(entry, list)
		if isExploded(entry) {
			if err := t.explode(entry, at); err != nil {
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
	kind := strings.TrimSuffix(kindOf(list), "List")
	if entry.Kind != yaml.MappingNode || kind == "" || field(entry, "kind") != nil {
		return
	}
	apiVersion, _ := textOf(list, "apiVersion") // "" if it is not a string
	var head []*yaml.Node
	if apiVersion != "" && field(entry, "apiVersion") == nil {
		head = append(head, plainNode("apiVersion"), plainNode(apiVersion))
	}
	entry.Content = slices.Concat(head, []*yaml.Node{plainNode("kind"), plainNode(kind)}, entry.Content)
}

// addList adds the items of a ResourceList. Lists among them are not split,
// since the caller expects the same items back.
func (t *tree) addList(document *yaml.Node, _ string) error {
	t.list = document.Content[0]
	items := field(t.list, "items")
	if isNull(items) {
		return nil
	}
	if items.Anchor != "" {
		if err := expandAliases(t.list); err != nil {
			return err
		}
		items = field(t.list, "items")
	}
	if items.Kind != yaml.SequenceNode {
		return errors.New("items of the ResourceList is not a list")
	}
	if err := isolateAliases(t.list, items.Content); err != nil {
		return err
	}
	for i, entry := range field(t.list, "items").Content {
		if err := t.add(entry, entry, fmt.Sprintf("items[%d]", i)); err != nil {
			return err
		}
	}
	return nil
}

// add adds a resource. document is the node to print, body the mapping in it.
func (t *tree) add(document, body *yaml.Node, where string) error {
	if body.Kind != yaml.MappingNode {
		return fmt.Errorf("%s is not a resource: expected a map with apiVersion, kind and metadata", where)
	}
	m, err := metaOf(body)
	if err != nil {
		return fmt.Errorf("%s: %w", where, err)
	}
	t.items = append(t.items, item{document: document, body: body, meta: m})
	return nil
}

func (t *tree) isList() bool { return t.list != nil }

func (t *tree) metas() []object.Meta {
	out := make([]object.Meta, len(t.items))
	for i, item := range t.items {
		out[i] = item.meta
	}
	return out
}

func (t *tree) object(i int) map[string]any { return objectOf(t.items[i].body) }

func (t *tree) config() []byte { return functionConfig(t.list) }

// functionConfig returns the functionConfig of a ResourceList as YAML, or nil.
func functionConfig(list *yaml.Node) []byte {
	config := field(list, "functionConfig")
	if isNull(config) || len(config.Content) == 0 {
		return nil
	}
	return encoded(config)
}

func (t *tree) unchanged(findings Findings) bool {
	if t.list == nil {
		return !t.exploded
	}
	missing, err := missingResults(t.list, findings)
	return err == nil && len(missing) == 0
}

func (t *tree) texts(sorted []int, changes []Change) ([]text, error) {
	out := make([]text, 0, len(sorted))
	for _, i := range sorted {
		changes[i].apply(t.items[i].body)
		printed, err := encode(t.items[i].document)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", t.items[i].meta.ID, err)
		}
		out = append(out, text{printed})
	}
	return out, nil
}

func (t *tree) resourceList(sorted []int, changes []Change, findings Findings) (text, error) {
	ordered := make([]*yaml.Node, 0, len(sorted))
	for _, i := range sorted {
		changes[i].apply(t.items[i].body)
		ordered = append(ordered, t.items[i].document)
	}
	if items := field(t.list, "items"); items != nil && len(ordered) > 0 {
		items.Content = ordered
	}
	if err := addResults(t.list, findings); err != nil {
		return nil, err
	}
	printed, err := encode(t.list)
	return text{printed}, err
}
