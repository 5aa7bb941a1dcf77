package tree

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/ordapply/ordapply/object"
)

// Field returns the value of a key of a mapping, or nil. Of duplicate keys the
// first one counts, as in kyaml.
func Field(node *yaml.Node, key string) *yaml.Node {
	_, value := Entry(node, key)
	return value
}

// Entry returns a key of a mapping and its value, or nil.
func Entry(node *yaml.Node, name string) (key, value *yaml.Node) {
	if node == nil || node.Kind != yaml.MappingNode {
		return nil, nil
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		if isKey(node.Content[i], name) {
			return node.Content[i], node.Content[i+1]
		}
	}
	return nil, nil
}

func isKey(node *yaml.Node, key string) bool {
	return node.Kind == yaml.ScalarNode && node.Value == key
}

// IsNull reports whether a node is missing or null.
func IsNull(node *yaml.Node) bool { return node == nil || node.Tag == yaml.NodeTagNull }

// TextOf returns a field's scalar value, or "" if it is missing.
func TextOf(node *yaml.Node, key string) (string, error) {
	value := Field(node, key)
	switch {
	case IsNull(value):
		return "", nil
	case value.Kind != yaml.ScalarNode:
		return "", fmt.Errorf("%s is not a string", key)
	}
	return value.Value, nil
}

// KindOf returns the kind of a resource, or "".
func KindOf(node *yaml.Node) string {
	kind, _ := TextOf(node, "kind") // other types are rejected later
	return kind
}

// MetaOf reads a resource's metadata.
func MetaOf(body *yaml.Node) (object.Meta, error) {
	var m object.Meta
	var errs [6]error
	apiVersion, err := TextOf(body, "apiVersion")
	m.Group, m.Version = object.SplitAPIVersion(apiVersion)
	m.Kind, errs[0] = TextOf(body, "kind")
	switch metadata := Field(body, "metadata"); {
	case IsNull(metadata):
	case metadata.Kind != yaml.MappingNode:
		errs[1] = errors.New("metadata is not a map")
	default:
		m.Name, errs[2] = TextOf(metadata, "name")
		m.Namespace, errs[3] = TextOf(metadata, "namespace")
		m.Labels, errs[4] = TextMap(metadata, "labels")
		m.Annotations, errs[5] = TextMap(metadata, "annotations")
	}
	return m, errors.Join(err, errors.Join(errs[:]...))
}

// TextMap returns a field that maps strings to scalars, or nil. Of duplicate
// keys the last one counts, as in kyaml.
func TextMap(node *yaml.Node, key string) (map[string]string, error) {
	value := Field(node, key)
	if IsNull(value) {
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
		if IsNull(v) {
			out[k.Value] = ""
		}
	}
	return out, nil
}

// EnsureMap returns the mapping in a field. If there is none it adds one with
// set.
func EnsureMap(node *yaml.Node, key string, set func(node *yaml.Node, key string, value *yaml.Node)) *yaml.Node {
	value := Field(node, key)
	if value == nil || value.Kind != yaml.MappingNode {
		value = &yaml.Node{Kind: yaml.MappingNode, Tag: yaml.NodeTagMap}
		set(node, key, value)
	}
	return value
}

// SetField sets the value of a key, in place or at the end.
func SetField(node *yaml.Node, key string, value *yaml.Node) {
	if !replaceField(node, key, value) {
		node.Content = append(node.Content, Plain(key), value)
	}
}

// SetFirst is SetField, but adds new keys at the front.
func SetFirst(node *yaml.Node, key string, value *yaml.Node) {
	if !replaceField(node, key, value) {
		node.Content = slices.Insert(node.Content, 0, Plain(key), value)
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
		RemoveField(rest, key)
		node.Content = append(node.Content[:i+2], rest.Content...)
		return true
	}
	return false
}

// RemoveField removes every entry of a key.
func RemoveField(node *yaml.Node, key string) {
	for i := len(node.Content) - 2; i >= 0; i -= 2 {
		if isKey(node.Content[i], key) {
			node.Content = slices.Delete(node.Content, i, i+2)
		}
	}
}

// Plain returns a string node that the encoder quotes only if necessary.
func Plain(value string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: yaml.NodeTagString, Value: value}
}

// String returns a string node that every parser reads as a string.
func String(value string) *yaml.Node {
	node := Plain(value)
	if NeedsQuotes(value) {
		node.Style = yaml.DoubleQuotedStyle
	}
	return node
}

// NeedsQuotes reports whether a parser might read the plain value as another
// type. Only a word that contains a slash, such as order/layer, is always a
// string.
func NeedsQuotes(value string) bool {
	return !strings.Contains(value, "/") || strings.ContainsFunc(value, func(r rune) bool {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		digit := r >= '0' && r <= '9'
		return !letter && !digit && !strings.ContainsRune("/-_.=+", r)
	}) || strings.ContainsRune("/-_.=+0123456789", rune(value[0]))
}

// HasTags reports whether a node or one below it has an explicit tag.
func HasTags(node *yaml.Node) bool {
	return contains(node, func(n *yaml.Node) bool { return n.Style&yaml.TaggedStyle != 0 })
}

// contains reports whether a node or one below it is such, in document order, without
// following aliases.
func contains(node *yaml.Node, is func(*yaml.Node) bool) bool {
	return is(node) || slices.ContainsFunc(node.Content, func(child *yaml.Node) bool { return contains(child, is) })
}
