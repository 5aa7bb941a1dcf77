package tree

import (
	"fmt"
	"slices"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

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
	if !HasAnchors(node) {
		return nil // DeAnchor takes long for deep nodes, also without aliases
	}
	retagKeys(node, yaml.NodeTagNull, nullKey)
	err := yaml.NewRNode(node).DeAnchor()
	retagKeys(node, nullKey, yaml.NodeTagNull)
	if err != nil {
		return fmt.Errorf("line %d: expand aliases: %w", node.Line, err)
	}
	return nil
}

// nullKey is the tag of null keys while aliases are expanded: kyaml would add them again.
const nullKey = "!null"

// retagKeys changes the tag of keys of mappings.
func retagKeys(node *yaml.Node, from, to string) {
	each(node, func(n *yaml.Node) {
		for i := 0; n.Kind == yaml.MappingNode && i < len(n.Content); i += 2 {
			if n.Content[i].Tag == from {
				n.Content[i].Tag = to
			}
		}
	})
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
