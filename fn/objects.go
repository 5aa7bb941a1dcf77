package fn

import (
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/ordapply/ordapply/ordering/planner"
)

// objectOf converts a resource to JSON types: maps with string keys, lists,
// strings, booleans, and numbers as int64 or float64. Aliases and merge keys
// have been expanded before. It omits fields that planning ignores, which are
// most of some streams.
func objectOf(body *yaml.Node) map[string]any {
	object, _ := plainValue(body).(map[string]any)
	return object
}

func plainValue(node *yaml.Node) any {
	switch node.Kind {
	case yaml.AliasNode:
		return plainValue(node.Alias)
	case yaml.MappingNode:
		out := make(map[string]any, len(node.Content)/2)
		for i := 0; i+1 < len(node.Content); i += 2 {
			if key := node.Content[i].Value; !planner.IgnoresField(key) {
				out[key] = plainValue(node.Content[i+1])
			}
		}
		return out
	case yaml.SequenceNode:
		out := make([]any, len(node.Content))
		for i, entry := range node.Content {
			out[i] = plainValue(entry)
		}
		return out
	}
	return scalar(node)
}

// scalar returns the value of a scalar; as a string if its tag does not fit.
func scalar(node *yaml.Node) any {
	if node.ShortTag() == yaml.NodeTagString {
		return node.Value
	}
	var value any
	if err := node.Decode(&value); err != nil {
		return node.Value
	}
	switch v := value.(type) {
	case nil, bool, float64, string:
		return v
	case int:
		return int64(v)
	}
	return node.Value
}
