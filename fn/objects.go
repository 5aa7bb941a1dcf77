package fn

import (
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/ordapply/ordapply/ordering"
)

// objectOf is a resource as JSON has it: maps with text keys, lists, texts,
// booleans, and numbers as int64 or float64. Aliases and merge keys were written
// out when the resource was read. What a plan never looks at is left out: it is
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
			if key := node.Content[i].Value; !ordering.Unread(key) {
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

// scalar is a text where it cannot be read as what its tag says.
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
