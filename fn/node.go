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

// field returns the value of a key of a mapping, or nil. Of duplicate keys the
// first one counts, as in kyaml.
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

// textOf returns a field's scalar value, or "" if it is missing.
func textOf(node *yaml.Node, key string) (string, error) {
	value := field(node, key)
	switch {
	case isNull(value):
		return "", nil
	case value.Kind != yaml.ScalarNode:
		return "", fmt.Errorf("%s is not a string", key)
	}
	return value.Value, nil
}

func kindOf(node *yaml.Node) string {
	kind, _ := textOf(node, "kind") // other types are rejected later
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
		return m, errors.Join(err, kindErr, errors.New("metadata is not a map"))
	}
	var errs [4]error
	m.Name, errs[0] = textOf(metadata, "name")
	m.Namespace, errs[1] = textOf(metadata, "namespace")
	m.Labels, errs[2] = textMap(metadata, "labels")
	m.Annotations, errs[3] = textMap(metadata, "annotations")
	return m, errors.Join(err, kindErr, errors.Join(errs[:]...))
}

// textMap returns a field that maps strings to scalars, or nil. Of duplicate
// keys the last one counts, as in kyaml.
func textMap(node *yaml.Node, key string) (map[string]string, error) {
	value := field(node, key)
	if isNull(value) {
		return nil, nil
	}
	if value.Kind != yaml.MappingNode {
		return nil, fmt.Errorf("metadata.%s is not a map", key)
	}
	out := make(map[string]string, len(value.Content)/2)
	for i := 0; i+1 < len(value.Content); i += 2 {
		k, v := value.Content[i], value.Content[i+1]
		if k.Kind != yaml.ScalarNode || v.Kind != yaml.ScalarNode {
			return nil, fmt.Errorf("metadata.%s: %s is not a string", key, k.Value)
		}
		out[k.Value] = v.Value
		if isNull(v) {
			out[k.Value] = ""
		}
	}
	return out, nil
}

// apply applies the change to a resource: existing annotations keep their
// position, new ones come first. It removes maps that become empty.
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

// ensureMap returns the mapping in a field. If there is none it adds one with
// set.
func ensureMap(node *yaml.Node, key string, set func(node *yaml.Node, key string, value *yaml.Node)) *yaml.Node {
	value := field(node, key)
	if value == nil || value.Kind != yaml.MappingNode {
		value = &yaml.Node{Kind: yaml.MappingNode, Tag: yaml.NodeTagMap}
		set(node, key, value)
	}
	return value
}

// setField sets the value of a key, in place or at the end.
func setField(node *yaml.Node, key string, value *yaml.Node) {
	if !replaceField(node, key, value) {
		node.Content = append(node.Content, plainNode(key), value)
	}
}

// setFirst is setField, but adds new keys at the front.
func setFirst(node *yaml.Node, key string, value *yaml.Node) {
	if !replaceField(node, key, value) {
		node.Content = slices.Insert(node.Content, 0, plainNode(key), value)
	}
}

// replaceField sets the value of an existing key, and removes duplicates of the
// key.
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

// plainNode returns a string node that the encoder quotes only if necessary.
func plainNode(value string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: yaml.NodeTagString, Value: value}
}

// stringNode returns a string node that every parser reads as a string.
func stringNode(value string) *yaml.Node {
	node := plainNode(value)
	if needsQuotes(value) {
		node.Style = yaml.DoubleQuotedStyle
	}
	return node
}

// needsQuotes reports whether a parser might read the plain value as another
// type. Only a word that contains a slash, such as order/layer, is always a
// string.
func needsQuotes(value string) bool {
	return !strings.Contains(value, "/") || strings.ContainsFunc(value, func(r rune) bool {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		digit := r >= '0' && r <= '9'
		return !letter && !digit && !strings.ContainsRune("/-_.=+", r)
	}) || strings.ContainsRune("/-_.=+0123456789", rune(value[0]))
}
