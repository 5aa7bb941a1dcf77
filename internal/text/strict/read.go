package strict

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/ordapply/ordapply/internal/text/tree"
)

// Read parses a text that is one document in YAML or JSON: a map. For messages, of is the
// expected object, such as "a Fleet", and fields lists its fields. The error is a Fault.
func Read(text []byte, of, fields string) (map[string]any, error) {
	if moreThanOne(text) {
		return nil, Fault{Message: fmt.Sprintf("holds more than one YAML document: %s is one object, in a file of its own", of)}
	}
	value, err := Value(text)
	if err != nil {
		return nil, err
	}
	document, ok := value.(map[string]any)
	if !ok {
		return nil, Fault{Message: fmt.Sprintf("is %s: %s is a map with %s", Describe(value), of, fields)}
	}
	return document, nil
}

// Value parses a text in YAML or JSON. The error is a Fault.
func Value(text []byte) (any, error) {
	body, err := tree.ToJSON(text)
	var value any
	if err == nil {
		err = json.Unmarshal(body, &value)
	}
	if err != nil {
		reason := strings.TrimPrefix(err.Error(), "error converting YAML to JSON: ")
		return nil, Fault{Message: "is not valid YAML: " + strings.ReplaceAll(strings.TrimPrefix(reason, "yaml: "), "\n", " ")}
	}
	return value, nil
}

// moreThanOne reports whether content follows the end of the first document.
func moreThanOne(text []byte) bool {
	seen, ended := false, false
	for line := range bytes.Lines(text) {
		for _, mark := range []string{"---", "..."} {
			if rest, found := bytes.CutPrefix(line, []byte(mark)); found {
				ended, line = seen, rest
			}
		}
		if content := bytes.TrimSpace(line); len(content) == 0 || content[0] == '#' {
			continue
		}
		if ended {
			return true
		}
		seen = true
	}
	return false
}
