package edit

import (
	"sigs.k8s.io/kustomize/kyaml/fn/framework"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/ordapply/ordapply/internal/text/tree"
)

// addResults appends entries to a ResourceList's results, without duplicates.
// Results of earlier functions are kept.
func addResults(list *yaml.Node, results []*framework.Result) error {
	missing, err := missingResults(list, results)
	if err != nil || len(missing) == 0 {
		return err
	}
	have := tree.Field(list, "results")
	if have == nil || have.Kind != yaml.SequenceNode {
		have = &yaml.Node{Kind: yaml.SequenceNode, Tag: yaml.NodeTagSeq}
		tree.SetField(list, "results", have)
	}
	have.Content = append(have.Content, missing...)
	return nil
}

// missingResults returns the entries that are not in a ResourceList's results
// yet.
func missingResults(list *yaml.Node, results []*framework.Result) ([]*yaml.Node, error) {
	listed := map[string]bool{}
	if have := tree.Field(list, "results"); have != nil {
		for _, entry := range have.Content {
			listed[tree.ContentKey(entry)] = true
		}
	}
	var missing []*yaml.Node
	for _, result := range results {
		entry := &yaml.Node{}
		if err := entry.Encode(result); err != nil {
			return nil, err
		}
		if key := tree.ContentKey(entry); !listed[key] {
			listed[key] = true
			missing = append(missing, entry)
		}
	}
	return missing, nil
}
