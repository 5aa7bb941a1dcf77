package tree

import (
	"bytes"
	"fmt"

	yamlv3 "go.yaml.in/yaml/v3"
	"sigs.k8s.io/yaml"

	"github.com/ordapply/ordapply/internal/limits"
)

// Unmarshal decodes a YAML document as sigs.k8s.io/yaml does, if its aliases may be expanded.
func Unmarshal(document []byte, into any) error {
	if _, err := checkAliases(document); err != nil {
		return err
	}
	return yaml.Unmarshal(document, into)
}

// MayHaveAliases reports whether a text contains the characters of an anchor and of an alias.
func MayHaveAliases(text []byte) bool {
	return bytes.IndexByte(text, '&') >= 0 && bytes.IndexByte(text, '*') >= 0
}

// checkAliases is CheckAliases for a document that may have none.
func checkAliases(document []byte) (repeated int, err error) {
	if !MayHaveAliases(document) {
		return 0, nil
	}
	var root yamlv3.Node
	if err := yamlv3.Unmarshal(document, &root); err != nil {
		return 0, err
	}
	return CheckAliases(&root)
}

// CheckStream is CheckAliases for all documents of a text. It ignores text that is not YAML.
func CheckStream(text []byte) (repeated int, err error) {
	if !MayHaveAliases(text) {
		return 0, nil
	}
	for decoder := yamlv3.NewDecoder(bytes.NewReader(text)); ; {
		var document yamlv3.Node
		if decoder.Decode(&document) != nil {
			return repeated, nil
		}
		more, err := CheckAliases(&document)
		if err != nil {
			return 0, err
		}
		repeated += more
	}
}

// CheckAliases returns how much the aliases of a document repeat, in bytes: the text of each
// value, and limits.AliasValue for the value itself. It is an error if that is more than
// limits.Aliases, if an alias is inside its own anchor, or if a document with aliases is
// deeper than limits.AliasDepth, for which expanding takes long.
func CheckAliases(document *yamlv3.Node) (repeated int, err error) {
	all, err := expansions{}.of(document)
	if err != nil {
		return 0, err
	}
	repeated = all.size - sizeAsWritten(document)
	switch {
	case repeated > limits.Aliases:
		return 0, fmt.Errorf("its aliases expand to more than %d MiB: replace aliases with their values, or split the document", limits.Aliases>>20)
	case repeated > 0 && all.depth > limits.AliasDepth:
		return 0, fmt.Errorf("its aliases expand to more than %d levels: replace aliases with their values", limits.AliasDepth)
	}
	return repeated, nil
}

// maxSize is where sizes stop to grow.
const maxSize = 1 << 40

// sizeAsWritten returns the size of a node whose aliases are not expanded.
func sizeAsWritten(node *yamlv3.Node) int {
	total := ownSize(node)
	for _, child := range node.Content {
		total += sizeAsWritten(child)
	}
	return min(total, maxSize)
}

// ownSize returns the size of a node without its children; an alias has none.
func ownSize(node *yamlv3.Node) int {
	if node.Kind == yamlv3.AliasNode {
		return 0
	}
	return limits.AliasValue + len(node.Value)
}

// expansion is a node's extent with its aliases expanded.
type expansion struct{ size, depth int }

// expansions has one per anchored node; the zero value while one is determined.
type expansions map[*yamlv3.Node]expansion

// of returns the expansion of a node, visiting each anchor once.
func (e expansions) of(node *yamlv3.Node) (expansion, error) {
	if node.Kind == yamlv3.AliasNode {
		known, visited := e[node.Alias]
		switch {
		case !visited:
			return e.of(node.Alias)
		case known.depth == 0:
			return known, fmt.Errorf("line %d: an alias is inside its own anchor", node.Line)
		}
		return known, nil
	}
	if node.Anchor != "" {
		e[node] = expansion{}
	}
	all := expansion{size: ownSize(node)}
	for _, child := range node.Content {
		below, err := e.of(child)
		if err != nil {
			return all, err
		}
		all = expansion{min(all.size+below.size, maxSize), max(all.depth, below.depth)}
	}
	all.depth++
	if node.Anchor != "" {
		e[node] = all
	}
	return all, nil
}
