package main

import (
	"bytes"
	"errors"
	"strconv"

	"go.yaml.in/yaml/v3"
)

// renumber replaces the sync wave in a document and leaves the rest of its text
// unchanged.
func renumber(text []byte, wave int) ([]byte, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return nil, err
	}
	annotations := mapValue(mapValue(doc.Content[0], "metadata"), "annotations")
	for _, key := range []string{"argocd.argoproj.io/sync-wave", "helm.sh/hook-weight"} {
		if value := mapValue(annotations, key); value != nil {
			return replaceScalar(text, value, strconv.Quote(strconv.Itoa(wave)))
		}
	}
	return nil, errors.New("it has no annotation with its wave")
}

func mapValue(node *yaml.Node, key string) *yaml.Node {
	if node == nil || node.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		if node.Content[i].Value == key {
			return node.Content[i+1]
		}
	}
	return nil
}

// replaceScalar replaces a one-line scalar in place.
func replaceScalar(text []byte, node *yaml.Node, with string) ([]byte, error) {
	lines := bytes.SplitAfter(text, []byte("\n"))
	line := lines[node.Line-1]
	from := len(string([]rune(string(line))[:node.Column-1]))
	quote := ""
	switch node.Style {
	case yaml.DoubleQuotedStyle:
		quote = `"`
	case yaml.SingleQuotedStyle:
		quote = "'"
	case 0:
	default:
		return nil, errors.New("the YAML style of its wave cannot be changed in place")
	}
	old := quote + node.Value + quote
	if !bytes.HasPrefix(line[from:], []byte(old)) {
		return nil, errors.New("the YAML style of its wave cannot be changed in place")
	}
	lines[node.Line-1] = append(append(append([]byte{}, line[:from]...), with...), line[from+len(old):]...)
	return bytes.Join(lines, nil), nil
}
