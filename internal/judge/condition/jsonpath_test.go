package condition

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"
)

const shelf = `
status:
  phase: Ready
  a.b: dotted
  count: 3
  none: null
  books:
  - {title: one, pages: 10, tags: [p, q]}
  - {title: two, pages: 200}
  - {title: "th]ree", pages: 30, lent: true}
`

func TestFind(t *testing.T) {
	var object any
	require.NoError(t, yaml.Unmarshal([]byte(shelf), &object))
	for path, want := range map[string]string{
		".status.phase":                             "[Ready]",
		".status['phase']":                          "[Ready]",
		`.status["phase"]`:                          "[Ready]",
		`.status.a\.b`:                              "[dotted]",
		".status['a.b']":                            "[dotted]",
		".status.none":                              "[]",
		".status.missing.further":                   "[]",
		".status.phase.further":                     "[]",
		".status.books[0].title":                    "[one]",
		".status.books[-1].title":                   "[th]ree]",
		".status.books[7].title":                    "[]",
		".status.books[-7].title":                   "[]",
		".status.books[1:].title":                   "[two th]ree]",
		".status.books[:-1].title":                  "[one two]",
		".status.books[2:1].title":                  "[]",
		".status.books[*].pages":                    "[10 200 30]",
		".status.books.*.pages":                     "[10 200 30]",
		"..title":                                   "[one two th]ree]",
		".status..tags[0]":                          "[p]",
		".status.books[?(@.pages > 20)].title":      "[two th]ree]",
		".status.books[?(@.pages<=30)].title":       "[one th]ree]",
		`.status.books[?(@.title=="th]ree")].pages`: "[30]",
		".status.books[?(@.title!='one')].pages":    "[200 30]",
		".status.books[?(@.lent)].title":            "[th]ree]",
		".status.books[?(@.tags[1]==q)].title":      "[one]",
		".status.books[?(@.missing==q)].title":      "[]",
		"[status][phase]":                           "error",
		"['status'].phase":                          "[Ready]",
		"":                                          "whole",
		"status":                                    "error",
		".status.":                                  "error",
		".status.books[":                            "error",
		".status.books[x]":                          "error",
		".status.books[1:x]":                        "error",
		".status.books[?(title==1)]":                "error",
		".status.books[?(@.a[==1)]":                 "error",
	} {
		parsed, err := ParseJSONPath(path)
		if want == "error" {
			require.Error(t, err, path)
			continue
		}
		require.NoError(t, err, path)
		if want == "whole" {
			require.Equal(t, []any{object}, parsed.Find(object))
			continue
		}
		require.Equal(t, want, fmt.Sprint(parsed.Find(object)), path)
	}
}

func FuzzParse(f *testing.F) {
	var object map[string]any
	require.NoError(f, yaml.Unmarshal([]byte(shelf), &object))
	for _, seed := range []string{".status.count", "[?(@.pages>20)].title", "..title", `['a.b']`, ".a[1:-1]", `[?(@.a[0]=="x}")]`} {
		f.Add(seed)
	}
	f.Fuzz(func(_ *testing.T, text string) {
		if path, err := ParseJSONPath(text); err == nil {
			_ = path.Find(object)
		}
	})
}
