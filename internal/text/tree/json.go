package tree

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
	"sigs.k8s.io/yaml"
)

// ToJSON converts a YAML document to JSON as kubectl does: a last line without a
// newline has one, and a key beside a merge (<<) overrides the merged one. Unlike
// kubectl it rejects a key that a mapping has twice, and aliases that repeat more than
// limits.Aliases.
func ToJSON(document []byte) ([]byte, error) {
	body, _, err := ToJSONCounting(document)
	return body, err
}

// ToJSONCounting is ToJSON, and also returns how much the aliases of the document repeat, as
// CheckAliases does.
func ToJSONCounting(document []byte) (body []byte, repeated int, err error) {
	document = WithLastNewline(document)
	repeated, err = checkAliases(document)
	if err == nil {
		body, err = yaml.YAMLToJSONStrict(document)
	}
	if err == nil || !strings.Contains(err.Error(), "already set in map") {
		return body, repeated, explainTab(err, document)
	}
	if err := duplicateKeys(document); err != nil {
		return nil, 0, err
	}
	body, err = yaml.YAMLToJSON(document) // strict reading rejects overrides of merged keys too
	return body, repeated, err
}

// duplicateKeys returns an error with every key that a mapping of the document has twice,
// not counting merged ones.
func duplicateKeys(document []byte) error {
	var root yamlv3.Node
	if err := yamlv3.Unmarshal(document, &root); err != nil {
		return err
	}
	found := duplicatesBelow(&root)
	if len(found) == 0 {
		return nil
	}
	return errors.New("yaml: unmarshal errors:\n" + strings.Join(found, "\n"))
}

// duplicatesBelow returns a line for each duplicate key in a node and below it, without
// following aliases.
func duplicatesBelow(node *yamlv3.Node) (found []string) {
	seen := map[string]bool{}
	for i, child := range node.Content {
		if key := keyText(child); node.Kind == yamlv3.MappingNode && i%2 == 0 && key != "" {
			if seen[key] {
				found = append(found, fmt.Sprintf("  line %d: key %q already set in map", child.Line, key))
			}
			seen[key] = true
		}
		found = append(found, duplicatesBelow(child)...)
	}
	return found
}

// keyText returns a key as it is in JSON; "" for a merge and for a non-scalar.
func keyText(key *yamlv3.Node) string {
	var value any
	if key.Kind != yamlv3.ScalarNode || key.ShortTag() == "!!merge" || key.Decode(&value) != nil {
		return ""
	}
	return fmt.Sprint(value)
}

// explainTab adds the remedy to the error for a tab that indents a line.
func explainTab(err error, document []byte) error {
	if err == nil {
		return nil
	}
	match := regexp.MustCompile(`line (\d+): found character that cannot start any token`).FindStringSubmatch(err.Error())
	if match == nil {
		return err
	}
	at, convErr := strconv.Atoi(match[1])
	lines := bytes.Split(document, []byte("\n"))
	for _, n := range []int{at - 1, at} { // the parser counts from 0 or from 1
		if convErr == nil && n >= 0 && n < len(lines) && bytes.HasPrefix(bytes.TrimLeft(lines[n], " "), []byte("\t")) {
			return fmt.Errorf("%w: a tab indents it; indent with spaces", err)
		}
	}
	return err
}
