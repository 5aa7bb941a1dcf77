package fn

import (
	"sigs.k8s.io/kustomize/kyaml/fn/framework"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// result converts the finding to an entry of a ResourceList's results.
func (f Finding) result() *framework.Result {
	r := &framework.Result{Message: f.Message, Severity: framework.Severity(f.Severity)}
	if f.Object != nil {
		r.ResourceRef = &yaml.ResourceIdentifier{
			TypeMeta: yaml.TypeMeta{APIVersion: f.Object.APIVersion(), Kind: f.Object.Kind},
			NameMeta: yaml.NameMeta{Name: f.Object.Name, Namespace: f.Object.Namespace},
		}
	}
	if f.Field != "" {
		r.Field = &framework.Field{Path: f.Field}
	}
	return r
}

// addResults appends findings to a ResourceList's results, without duplicates.
// Results of earlier functions are kept.
func addResults(list *yaml.Node, findings Findings) error {
	missing, err := missingResults(list, findings)
	if err != nil || len(missing) == 0 {
		return err
	}
	results := field(list, "results")
	if results == nil || results.Kind != yaml.SequenceNode {
		results = &yaml.Node{Kind: yaml.SequenceNode, Tag: yaml.NodeTagSeq}
		setField(list, "results", results)
	}
	results.Content = append(results.Content, missing...)
	return nil
}

// missingResults returns the findings that are not in a ResourceList's results
// yet.
func missingResults(list *yaml.Node, findings Findings) ([]*yaml.Node, error) {
	said := map[string]bool{}
	if results := field(list, "results"); results != nil {
		for _, entry := range results.Content {
			said[contentKey(entry)] = true
		}
	}
	var missing []*yaml.Node
	for _, f := range findings {
		entry := &yaml.Node{}
		if err := entry.Encode(f.result()); err != nil {
			return nil, err
		}
		if key := contentKey(entry); !said[key] {
			said[key] = true
			missing = append(missing, entry)
		}
	}
	return missing, nil
}

// encoded returns a node as text for comparing or parsing, or nil on error.
func encoded(node *yaml.Node) []byte {
	text, err := encode(node)
	if err != nil {
		return nil
	}
	return text
}
