package tree

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// Encode prints a node as kyaml does and parses the result. If it differs,
// block scalars are quoted instead; if it still differs, it returns an error.
func Encode(node *yaml.Node) ([]byte, error) {
	workAroundEncoder(node, false)
	text, err := printed(node)
	if err == nil {
		return text, nil
	}
	each(node, func(n *yaml.Node) {
		if n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 {
			n.Style = yaml.DoubleQuotedStyle
		}
	})
	return printed(node)
}

// printed returns a node's text if it parses back to the same content. The items of a long list
// are printed in parts, with the same text.
func printed(node *yaml.Node) ([]byte, error) {
	if list := longList(node); list != nil {
		return inParts(node, list)
	}
	return whole(node)
}

// whole prints a node at once.
func whole(node *yaml.Node) ([]byte, error) {
	text, err := encode(node)
	if err != nil {
		return nil, fmt.Errorf("print: %w", err)
	}
	back, err := ParseAll(text)
	if err != nil || len(back) != 1 || !SameContent(content(node), content(back[0])) {
		return nil, errors.New("the YAML printer would change it: write it in a plainer style")
	}
	return text, nil
}

// workAroundEncoder works around errors of the encoder, which prints an empty null in flow
// style as an empty string, adds a tag to a merge key, and inserts empty lines
// into a folded scalar with indented lines.
func workAroundEncoder(node *yaml.Node, inFlow bool) {
	switch {
	case inFlow && node.Kind == yaml.ScalarNode && IsNull(node) && node.Value == "":
		node.Value = "null"
	case node.Tag == yaml.MergeTag && node.Value == "<<":
		node.Tag = ""
	case node.Style&yaml.FoldedStyle != 0 && strings.Contains(node.Value, "\n "):
		node.Style = yaml.LiteralStyle
	}
	for _, child := range node.Content {
		workAroundEncoder(child, inFlow || node.Style&yaml.FlowStyle != 0)
	}
}

// content returns the content of a document node, or the node itself.
func content(node *yaml.Node) *yaml.Node {
	if node.Kind == yaml.DocumentNode {
		return node.Content[0]
	}
	return node
}

// SameContent reports whether two nodes are equal, ignoring style and comments.
func SameContent(a, b *yaml.Node) bool {
	return a.Kind == b.Kind && tag(a) == tag(b) && a.Anchor == b.Anchor && (a.Value == b.Value || IsNull(a)) &&
		slices.EqualFunc(a.Content, b.Content, SameContent)
}

// tag returns a node's resolved tag. A merge key is recognized by its text.
func tag(node *yaml.Node) string {
	if node.Tag == "" && node.Value == "<<" && node.Style == 0 {
		return yaml.MergeTag
	}
	return node.ShortTag()
}

// each visits a node and its descendants in document order, without following aliases.
func each(node *yaml.Node, visit func(*yaml.Node)) {
	visit(node)
	for _, child := range node.Content {
		each(child, visit)
	}
}
