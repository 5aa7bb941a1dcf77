package tree_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/internal/text/tree"
)

func TestToJSON(t *testing.T) {
	for name, c := range map[string]struct{ text, json, err string }{
		"a merge with an override":         {"a: &a {x: 1, z: 1}\nb:\n  <<: *a\n  z: 2\n", `{"a":{"x":1,"z":1},"b":{"x":1,"z":2}}`, ""},
		"overlapping merges":               {"a: &a {x: 1}\nb: &b {x: 2}\nc: {<<: [*a, *b], z: 3}\n", `{"a":{"x":1},"b":{"x":2},"c":{"x":1,"z":3}}`, ""},
		"a key twice":                      {"a: 1\nb: 2\na: 3\n", "", `line 3: key "a" already set in map`},
		"a key twice beside a merge":       {"a: &a {x: 1}\nb:\n  <<: *a\n  x: 2\n  x: 3\n", "", `line 5: key "x" already set in map`},
		"a key twice in a merged map":      {"a: &a\n  x: 1\n  x: 2\nb: {<<: *a, x: 3}\n", "", `line 3: key "x" already set in map`},
		"a number twice":                   {"a: {1: x, 0x1: y}\n", "", `already set in map`},
		"a last line without a newline":    {"a: |\n  x", `{"a":"x\n"}`, ""},
		"a kept end without a newline":     {"a: |+\n  x\n\n", `{"a":"x\n\n"}`, ""},
		"a tab before a key":               {"a:\n\tb: 1\n", "", "indent with spaces"},
		"a tab inside of a value":          {"a: x\ty\n", `{"a":"x\ty"}`, ""},
		"a reserved character, and no tab": {"a: @x\n", "", "found character that cannot start any token"},
	} {
		t.Run(name, func(t *testing.T) {
			body, err := tree.ToJSON([]byte(c.text))
			if c.err != "" {
				require.ErrorContains(t, err, c.err)
				return
			}
			require.NoError(t, err)
			require.JSONEq(t, c.json, string(body))
		})
	}
}
