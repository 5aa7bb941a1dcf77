package events

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Every field of the published schema still exists with its type, unless
// Version was raised. testdata/version-1.txt lists them and is never rewritten:
// append new fields by hand; a new version gets a new file.
func TestVersionKeepsItsFields(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("testdata", fmt.Sprintf("version-%d.txt", Version)))
	require.NoError(t, err, "list the fields of the new version")
	page, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "events.schema.json"))
	require.NoError(t, err)
	var schema map[string]any
	require.NoError(t, json.Unmarshal(page, &schema))
	now := map[string]bool{}
	for _, line := range schema["oneOf"].([]any) {
		fields := line.(map[string]any)["properties"].(map[string]any)
		name := fields["type"].(map[string]any)["enum"].([]any)[0].(string)
		listFields(now, name, fields)
	}
	stored := strings.Split(strings.TrimSpace(string(text)), "\n")
	require.Greater(t, len(stored), 50)
	for _, field := range stored {
		require.True(t, now[field], "%s went or changed its type: raise Version", field)
	}
}

// listFields adds "line.field type" for each field, including nested ones.
func listFields(out map[string]bool, path string, fields map[string]any) {
	for name, value := range fields {
		field := value.(map[string]any)
		out[fmt.Sprintf("%s.%s %v", path, name, field["type"])] = true
		if inner, ok := field["properties"].(map[string]any); ok {
			listFields(out, path+"."+name, inner)
		}
		for _, key := range []string{"items", "additionalProperties"} {
			element, ok := field[key].(map[string]any)
			if !ok {
				continue
			}
			out[fmt.Sprintf("%s.%s[] %v", path, name, element["type"])] = true
			if inner, ok := element["properties"].(map[string]any); ok {
				listFields(out, path+"."+name+"[]", inner)
			}
		}
	}
}
