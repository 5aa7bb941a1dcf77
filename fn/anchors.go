package fn

import (
	"errors"
	"fmt"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// maxNodes bounds what a document may amount to once its aliases are written
// out. Real streams stay below a tenth of it.
const maxNodes = 10_000_000

// checkAliases refuses documents that grow out of bounds, or for ever, when
// their aliases are followed.
func checkAliases(document *yaml.Node) error {
	sizer := sizer{sizes: map[*yaml.Node]int{}}
	if size, err := sizer.size(document); err != nil || size > maxNodes {
		return errors.Join(err, tooLarge(size))
	}
	return nil
}

func tooLarge(size int) error {
	if size <= maxNodes {
		return nil
	}
	return fmt.Errorf("its aliases expand to more than %d nodes: write out what they stand for", maxNodes)
}

// sizer counts nodes with aliases followed, each anchor once.
type sizer struct {
	sizes map[*yaml.Node]int // of anchored nodes; -1 while counting
}

func (s *sizer) size(node *yaml.Node) (int, error) {
	if node.Kind == yaml.AliasNode {
		size, counted := s.sizes[node.Alias]
		if size < 0 {
			return 0, fmt.Errorf("line %d: alias %s stands inside what it stands for", node.Line, node.Value)
		}
		if counted {
			return size, nil
		}
		return s.size(node.Alias)
	}
	if node.Anchor != "" {
		s.sizes[node] = -1
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
		s.sizes[node] = total
	}
	return total, nil
}

// detach makes sure that a resource can be moved and stamped without touching
// another, or more of itself than its annotations: aliases are written out where
// one reaches out of the resource, or where its metadata is shared.
func detach(whole *yaml.Node, bodies []*yaml.Node) error {
	for _, body := range bodies {
		if reachesOut(body) {
			return writtenOut(whole)
		}
	}
	for _, body := range bodies {
		if sharesMetadata(body) {
			if err := writtenOut(body); err != nil {
				return err
			}
		}
	}
	return nil
}

// writtenOut replaces every alias and merge key below the node by what it
// stands for.
func writtenOut(node *yaml.Node) error {
	if err := yaml.NewRNode(node).DeAnchor(); err != nil {
		return fmt.Errorf("line %d: write out aliases: %w", node.Line, err)
	}
	return nil
}

// reachesOut tells whether an alias in the body has its anchor outside of it.
func reachesOut(body *yaml.Node) bool {
	if body.Kind == yaml.AliasNode {
		return true
	}
	inside, out := map[*yaml.Node]bool{}, false
	each(body, func(node *yaml.Node) {
		if node.Anchor != "" {
			inside[node] = true
		}
		out = out || node.Kind == yaml.AliasNode && !inside[node.Alias]
	})
	return out
}

// sharesMetadata tells whether writing annotations, or reading what an order
// looks at, meets an anchor, an alias or a merge key.
func sharesMetadata(body *yaml.Node) bool {
	if body.Anchor != "" || hasAlias(body) {
		return true
	}
	metadata := field(body, "metadata")
	if metadata == nil {
		return false
	}
	shared := false
	each(metadata, func(node *yaml.Node) {
		shared = shared || node.Anchor != "" || node.Kind == yaml.AliasNode || node.Tag == yaml.MergeTag
	})
	return shared
}

// hasAlias tells whether a mapping has an alias or a merge key of its own.
func hasAlias(mapping *yaml.Node) bool {
	for _, node := range mapping.Content {
		if node.Kind == yaml.AliasNode || node.Tag == yaml.MergeTag {
			return true
		}
	}
	return false
}

// each visits a node and all below it, aliases not followed, in the order of
// the text.
func each(node *yaml.Node, visit func(*yaml.Node)) {
	visit(node)
	for _, child := range node.Content {
		each(child, visit)
	}
}
