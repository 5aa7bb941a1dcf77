// Package yamlsuite has the inputs of the YAML test suite (https://github.com/yaml/yaml-test-suite,
// branch data at 6ad3d2c6), valid and invalid ones, and resources that contain them.
//
//	for name, stream := range yamlsuite.Streams() {
//		read(stream)
//	}
package yamlsuite

import (
	_ "embed"
	"encoding/json"
	"strings"
)

//go:embed inputs.json
var inputs []byte

// Inputs returns the inputs by the name of their case, "229Q" or "2G84/00".
func Inputs() map[string]string {
	var out map[string]string
	if err := json.Unmarshal(inputs, &out); err != nil {
		panic(err)
	}
	return out
}

const (
	head   = "apiVersion: v1\nkind: Secret\nmetadata:\n  name: a\n"
	second = "apiVersion: v1\nkind: Service\nmetadata:\n  name: b\n"
)

// Streams returns streams of resources with every input in several places, by case and place:
// "229Q as a value".
func Streams() map[string]string {
	out := map[string]string{}
	for name, input := range Inputs() {
		for place, stream := range map[string]string{
			"alone":                     input,
			"as a value":                head + "spec:\n" + indented(input, "  ") + "---\n" + second,
			"as a value in flow style":  "{apiVersion: v1, kind: Secret, metadata: {name: a}, spec:\n" + indented(input, "  ") + "}\n---\n" + second,
			"as an item of a list":      head + "spec:\n-\n" + indented(input, "  ") + "- b\n---\n" + second,
			"as the annotations":        head + "  annotations:\n" + indented(input, "    ") + "---\n" + second,
			"as fields of the resource": head + input + "\n---\n" + second,
			"before a resource":         input + "\n---\n" + head,
			"after a resource":          head + "---\n" + input,
			"in a ResourceList":         "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n- apiVersion: v1\n  kind: Secret\n  metadata:\n    name: a\n  spec:\n" + indented(input, "    ") + "- apiVersion: v1\n  kind: Service\n  metadata:\n    name: b\n",
		} {
			out[name+" "+place] = stream
		}
	}
	return out
}

// indented returns a text with every line indented, and a newline at its end.
func indented(text, by string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		out.WriteString(by + strings.TrimSuffix(line, "\n") + "\n")
	}
	return out.String()
}
