package yamlnode

import (
	"fmt"
	"slices"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// maxNodes limits the size of a document after its aliases are expanded. Real
// streams have less than a tenth of it.
const maxNodes = 10_000_000

// CheckAliases returns an error for documents whose aliases expand beyond
// maxNodes, or are recursive.
func CheckAliases(document *yaml.Node) error {
	size, err := anchorSizes{}.size(document)
	if err == nil && size > maxNodes {
		err = fmt.Errorf("its aliases expand to more than %d nodes: replace aliases with their values", maxNodes)
	}
	return err
}

// anchorSizes has the sizes of anchored nodes with aliases expanded; -1 while one is counted.
type anchorSizes map[*yaml.Node]int

// size counts the nodes below one, visiting each anchor once.
func (s anchorSizes) size(node *yaml.Node) (int, error) {
	if node.Kind == yaml.AliasNode {
		size, counted := s[node.Alias]
		if size < 0 {
			return 0, fmt.Errorf("line %d: alias %s is inside its own anchor", node.Line, node.Value)
		}
		if counted {
			return size, nil
		}
		return s.size(node.Alias)
	}
	if node.Anchor != "" {
		s[node] = -1
	}
	total := 1
	for _, child := range node.Content {
		size, err := s.size(child)
		if err != nil {
			return 0, err
		}
		total = min(total+size, maxNodes+1)
	}
	if node.Anchor != "" {
		s[node] = total
	}
	return total, nil
}

// IsolateAliases ensures that moving and stamping a resource changes neither another
// resource nor more of itself than its annotations: it expands aliases if one
// refers to an anchor outside the resource, or if the metadata is shared.
func IsolateAliases(whole *yaml.Node, bodies []*yaml.Node) error {
	if slices.ContainsFunc(bodies, HasOuterAlias) {
		return ExpandAliases(whole)
	}
	for _, body := range bodies {
		if SharesMetadata(body) {
			if err := ExpandAliases(body); err != nil {
				return err
			}
		}
	}
	return nil
}

// ExpandAliases expands every alias and merge key below the node.
func ExpandAliases(node *yaml.Node) error {
	if err := yaml.NewRNode(node).DeAnchor(); err != nil {
		return fmt.Errorf("line %d: expand aliases: %w", node.Line, err)
	}
	return nil
}

// HasOuterAlias reports whether an alias in the body refers to an anchor outside it.
func HasOuterAlias(body *yaml.Node) bool {
	if body.Kind == yaml.AliasNode {
		return true
	}
	inside := map[*yaml.Node]bool{}
	return contains(body, func(node *yaml.Node) bool {
		if node.Anchor != "" {
			inside[node] = true
		}
		return node.Kind == yaml.AliasNode && !inside[node.Alias]
	})
}

// SharesMetadata reports whether an anchor, alias or merge key affects the
// metadata that an order reads, or the annotations that it writes.
func SharesMetadata(body *yaml.Node) bool {
	if body.Anchor != "" || HasAlias(body) {
		return true
	}
	metadata := Field(body, "metadata")
	return metadata != nil && HasAnchors(metadata)
}

// HasAlias reports whether a mapping itself has an alias or merge key.
func HasAlias(mapping *yaml.Node) bool { return slices.ContainsFunc(mapping.Content, isAlias) }

func isAlias(node *yaml.Node) bool { return node.Kind == yaml.AliasNode || node.Tag == yaml.MergeTag }

// HasAnchors reports whether a node or one below it is an anchor, an alias or a merge key.
func HasAnchors(node *yaml.Node) bool {
	return contains(node, func(n *yaml.Node) bool { return n.Anchor != "" || isAlias(n) })
}
