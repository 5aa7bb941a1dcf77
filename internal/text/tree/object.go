package tree

import (
	"fmt"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// PrintObject prints a decoded manifest. Strings that any version of YAML reads as another
// type are quoted, so that kubectl, kustomize and Helm read the same values.
func PrintObject(object map[string]any) ([]byte, error) {
	var node yaml.Node
	if err := node.Encode(object); err != nil {
		return nil, fmt.Errorf("print: %w", err)
	}
	return Encode(&node)
}
