package fn

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/ordapply/ordapply/object"
)

// field is the value of a key of a mapping; nil when it is not there, or the
// node is no mapping. Of keys that stand twice the first counts, as in kyaml.
func field(node *yaml.Node, key string) *yaml.Node {
	if node == nil || node.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		if isKey(node.Content[i], key) {
			return node.Content[i+1]
		}
	}
	return nil
}

func isKey(node *yaml.Node, key string) bool {
	return node.Kind == yaml.ScalarNode && node.Value == key
}

func isNull(node *yaml.Node) bool { return node == nil || node.Tag == yaml.NodeTagNull }

// textOf is a field's scalar value, "" when it is not there.
func textOf(node *yaml.Node, key string) (string, error) {
	value := field(node, key)
	switch {
	case isNull(value):
		return "", nil
	case value.Kind != yaml.ScalarNode:
		return "", fmt.Errorf("%s is no string", key)
	}
	return value.Value, nil
}

func kindOf(node *yaml.Node) string {
	kind, _ := textOf(node, "kind") // a kind that is no string is refused later
	return kind
}

// metaOf reads a resource's metadata.
func metaOf(body *yaml.Node) (object.Meta, error) {
	var m object.Meta
	apiVersion, err := textOf(body, "apiVersion")
	m.Group, m.Version = object.SplitAPIVersion(apiVersion)
	kind, kindErr := textOf(body, "kind")
	m.Kind = kind
	metadata := field(body, "metadata")
	if isNull(metadata) {
		return m, errors.Join(err, kindErr)
	}
	if metadata.Kind != yaml.MappingNode {
		return m, errors.Join(err, kindErr, errors.New("metadata is no map"))
	}
	var errs [4]error
	m.Name, errs[0] = textOf(metadata, "name")
	m.Namespace, errs[1] = textOf(metadata, "namespace")
	m.Labels, errs[2] = textMap(metadata, "labels")
	m.Annotations, errs[3] = textMap(metadata, "annotations")
	return m, errors.Join(err, kindErr, errors.Join(errs[:]...))
}

// textMap is a field that maps strings to scalars; nil when it is not there.
// Of keys that stand twice the last counts, as in kyaml.
func textMap(node *yaml.Node, key string) (map[string]string, error) {
	value := field(node, key)
	if isNull(value) {
		return nil, nil
	}
	if value.Kind != yaml.MappingNode {
		return nil, fmt.Errorf("metadata.%s is no map", key)
	}
	out := make(map[string]string, len(value.Content)/2)
	for i := 0; i+1 < len(value.Content); i += 2 {
		k, v := value.Content[i], value.Content[i+1]
		if k.Kind != yaml.ScalarNode || v.Kind != yaml.ScalarNode {
			return nil, fmt.Errorf("metadata.%s: %s is no string", key, k.Value)
		}
		out[k.Value] = v.Value
		if isNull(v) {
			out[k.Value] = ""
		}
	}
	return out, nil
}

// apply writes the change on a resource: present annotations keep their place,
// new ones come before them. Nothing empty is left behind where the last is
// taken away.
func (c Change) apply(body *yaml.Node) {
	if len(c.Set) == 0 && len(c.Remove) == 0 {
		return
	}
	metadata := ensureMap(body, "metadata", setField)
	annotations := ensureMap(metadata, "annotations", setFirst)
	for _, key := range c.Remove {
		removeField(annotations, key)
	}
	for _, key := range slices.Backward(slices.Sorted(maps.Keys(c.Set))) {
		setFirst(annotations, key, stringNode(c.Set[key]))
	}
	if len(annotations.Content) == 0 {
		removeField(metadata, "annotations")
	}
	if len(metadata.Content) == 0 {
		removeField(body, "metadata")
	}
}

// ensureMap is the mapping in a field; it makes one, with set, where there is
// none.
func ensureMap(node *yaml.Node, key string, set func(node *yaml.Node, key string, value *yaml.Node)) *yaml.Node {
	value := field(node, key)
	if value == nil || value.Kind != yaml.MappingNode {
		value = &yaml.Node{Kind: yaml.MappingNode, Tag: yaml.NodeTagMap}
		set(node, key, value)
	}
	return value
}

// setField gives a key its value: in the place where it stands already, else
// behind all others.
func setField(node *yaml.Node, key string, value *yaml.Node) {
	if !replaceField(node, key, value) {
		node.Content = append(node.Content, plainNode(key), value)
	}
}

// setFirst is setField with new keys before all others.
func setFirst(node *yaml.Node, key string, value *yaml.Node) {
	if !replaceField(node, key, value) {
		node.Content = slices.Insert(node.Content, 0, plainNode(key), value)
	}
}

// replaceField gives a key that is there its value. A second entry of the key
// goes.
func replaceField(node *yaml.Node, key string, value *yaml.Node) bool {
	for i := 0; i+1 < len(node.Content); i += 2 {
		if !isKey(node.Content[i], key) {
			continue
		}
		value.LineComment = node.Content[i+1].LineComment
		node.Content[i+1] = value
		rest := &yaml.Node{Content: node.Content[i+2:]}
		removeField(rest, key)
		node.Content = append(node.Content[:i+2], rest.Content...)
		return true
	}
	return false
}

func removeField(node *yaml.Node, key string) {
	for i := len(node.Content) - 2; i >= 0; i -= 2 {
		if isKey(node.Content[i], key) {
			node.Content = slices.Delete(node.Content, i, i+2)
		}
	}
}

// plainNode is a string that the printer quotes only if it must.
func plainNode(value string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: yaml.NodeTagString, Value: value}
}

// stringNode is a string that every reader takes for one.
func stringNode(value string) *yaml.Node {
	node := plainNode(value)
	if needsQuotes(value) {
		node.Style = yaml.DoubleQuotedStyle
	}
	return node
}

// needsQuotes tells whether a reader might take the plain value for something
// else than this string. Only a word with a slash in it, such as order/layer,
// is certainly a string everywhere.
func needsQuotes(value string) bool {
	return !strings.Contains(value, "/") || strings.ContainsFunc(value, func(r rune) bool {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		digit := r >= '0' && r <= '9'
		return !letter && !digit && !strings.ContainsRune("/-_.=+", r)
	}) || strings.ContainsRune("/-_.=+0123456789", rune(value[0]))
}
