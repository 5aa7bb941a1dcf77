package tree_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/internal/text/tree"
)

func TestSplitJSONValues(t *testing.T) {
	for name, c := range map[string]struct {
		text  string
		parts []string
		stray string
	}{
		"lines":             {"{\"a\":1}\n{\"a\":2}\n", []string{`{"a":1}`, "\n{\"a\":2}\n"}, ""},
		"nothing between":   {`{"a":{}}{"b":[]}`, []string{`{"a":{}}`, `{"b":[]}`}, ""},
		"printed at length": {"{\n  \"a\": 1\n}\n[\n  2\n]\n", []string{"{\n  \"a\": 1\n}", "\n[\n  2\n]\n"}, ""},
		"comments":          {"# one\n{} # two\n{} # three", []string{"# one\n{}", " # two\n{} # three"}, ""},
		"one":               {" {\"a\": \"}{\"}\n", []string{" {\"a\": \"}{\"}\n"}, ""},
		"nothing":           {"\n# no value\n", []string{"\n# no value\n"}, ""},
		"YAML":              {"a: {}\nb: {}\n", []string{"a: {}\nb: {}\n"}, ""},
		"YAML in braces":    {"{a: b}\n{\"a\": 1}\n", []string{"{a: b}\n{\"a\": 1}\n"}, ""},
		"garbage":           {"{}\n{} xyz\n", nil, `unexpected text "xyz" after a JSON object`},
		"cut off":           {"{}\n\n{\"a\":", nil, `unexpected text "{\"a\":" after a JSON object`},
	} {
		t.Run(name, func(t *testing.T) {
			parts, err := tree.SplitJSON([]byte(c.text))
			if c.stray != "" {
				require.ErrorContains(t, err, c.stray)
				return
			}
			require.NoError(t, err)
			var got []string
			for _, part := range parts {
				got = append(got, string(part))
			}
			require.Equal(t, c.parts, got)
		})
	}
}

// FuzzSplit checks that no byte is lost.
func FuzzSplit(f *testing.F) {
	for _, seed := range []string{"{}{}", "{} #\n[]", "{}x", "#", "", " [1]\r\n"} {
		f.Add(seed, 3)
	}
	f.Fuzz(func(t *testing.T, text string, times int) {
		text = strings.Repeat(text, 1+abs(times)%4)
		parts, err := tree.SplitJSON([]byte(text))
		if err == nil {
			require.Equal(t, text, string(bytes.Join(parts, nil)))
		}
	})
}

func abs(n int) int { return max(n, -n, 0) }
