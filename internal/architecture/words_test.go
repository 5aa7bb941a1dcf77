package architecture

import (
	"go/ast"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// replaced are words and idioms that this project used in meanings of its own, by what is
// written instead. They are searched in code, comments, tests and pages.
func replaced() map[string][]string {
	return map[string][]string{
		"reports whether, lists, shows":       {"tells whether", "tells of", "tells which"},
		"is reported, is given":               {"is told", "are told", "was told", "were told", "told of"},
		"is reported, is called":              {"is said", "are said", "was said", "were said"},
		"was deleted":                         {"is no more"},
		"what is missing":                     {"what lacks", "what it lacks"},
		"another client, a user, a dependent": {"somebody", "anybody", "whoever", "who needs it", "what needs it"},
		"dry run":                             {"rehearse", "rehearsal"},
		"events":                              {"happenings"},
		"migrate ownership":                   {"bequeath", "bequeathing"},
		"async writer":                        {"outlet"},
		"late prerequisites":                  {"latecomers"},
		"terminating":                         {"vanishing"},
		"set deletion":                        {"dissolution"},
		"follow, handle":                      {"heed", "heeds", "heeded"},
		"without success":                     {"in vain"},
		"back and forth":                      {"to and fro"},
		"plain words":                         {"whence", "thence", "thereof", "herein", "lest", "so to speak"},
	}
}

// banned are identifiers that say nothing about what they are, with a better name.
func banned() map[string]string {
	return map[string]string{
		"told": "reporters, reported", "said": "printed, output", "begun": "started", "heed": "handle", "road": "path",
		"patience": "timeout", "scene": "snapshot", "vigil": "watch", "sight": "event", "teller": "reporter", "happenings": "events",
	}
}

// Words that were replaced by the field's own do not come back.
func TestWords(t *testing.T) {
	for _, s := range sources(t) {
		if s.path == "internal/architecture/words_test.go" {
			continue // it quotes them
		}
		checkWords(t, s.path, s.text)
		ast.Inspect(s.syntax, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok {
				if instead, found := banned()[id.Name]; found {
					assert.Fail(t, "identifier", "%s: %s: write instead: %s", s.path, id.Name, instead)
				}
			}
			return true
		})
	}
	require.NoError(t, eachPath(func(path string) error {
		if filepath.Ext(path) != ".md" || strings.HasPrefix(path, "docs/adr/") {
			return nil
		}
		text, err := os.ReadFile(filepath.Join(root(), path))
		checkWords(t, path, string(text))
		return err
	}))
}

// checkWords fails for each replaced word in a text.
func checkWords(t *testing.T, path, text string) {
	t.Helper()
	lower := strings.ToLower(text)
	for instead, words := range replaced() {
		for _, word := range words {
			if at := wordIndex(lower, word); at >= 0 {
				assert.Fail(t, "word", "%s:%d: %q: write instead: %s", path, 1+strings.Count(lower[:at], "\n"), word, instead)
			}
		}
	}
}

// wordIndex returns the index of the first whole word; -1 without one.
func wordIndex(text, word string) int {
	letter := func(at int) bool { return at >= 0 && at < len(text) && unicode.IsLetter(rune(text[at])) }
	for from := 0; ; {
		at := strings.Index(text[from:], word)
		if at < 0 {
			return -1
		}
		if at += from; !letter(at-1) && !letter(at+len(word)) {
			return at
		}
		from = at + len(word)
	}
}
