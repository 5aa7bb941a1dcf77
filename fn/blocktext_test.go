package fn

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// blockLines returns the lines of the documents of TestBlockTextsAreOnlyCut.
func blockLines() []string {
	return []string{
		"a: |", "b: >-", "c: |+", "d: |2", "e: x |", "- |", "- f: |", "- - |", "? g: |", "? |", ": |", "h: &x |", "i: !!str |", "!!str", "j: \"x |", "k: 'x |",
		"metadata:", "kind: |", "text", "more text |", "l: m", "- n", "\"", "'", "# c |", "o: [|", "]", "{p: |", "}", "\tq", " \tr", "s: \x01", "\x7f", "\u0080", "\u00e9", "\ufffe", "", "", "   ", "*x", "---",
	}
}

// TestBlockTextsAreOnlyCut parses documents of odd lines with and without
// shortening: the same documents are valid, and except for the shortened
// scalars the trees are equal.
func TestBlockTextsAreOnlyCut(t *testing.T) {
	random := rand.New(rand.NewPCG(13, 14))
	lines := blockLines()
	var parser blockScalarParser
	shortened := 0
	for range 100_000 {
		var b strings.Builder
		for range 2 + random.IntN(9) {
			b.WriteString(strings.Repeat(" ", random.IntN(5)) + lines[random.IntN(len(lines))] + "\n")
		}
		text := b.String()
		want, accepted := parseAlone([]byte(text))
		got, ok := parser.parse([]byte(text), 0, func(root *yaml.Node) []*yaml.Node { return []*yaml.Node{root} })
		require.Equal(t, accepted, ok, "%q", text)
		if !ok {
			continue
		}
		require.True(t, sameButTexts(want, got), "%q", text)
		if len(parser.cut) > 0 {
			shortened++
		}
	}
	require.Greater(t, shortened, 500)
}

// sameButTexts compares all used parts of two trees; of block scalars only
// their start.
func sameButTexts(a, b *yaml.Node) bool {
	if a.Kind != b.Kind || a.Line != b.Line || a.Column != b.Column || a.Style != b.Style || a.Tag != b.Tag || a.Anchor != b.Anchor || len(a.Content) != len(b.Content) {
		return false
	}
	same := a.Value == b.Value
	if a.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 {
		same = strings.HasPrefix(a.Value, strings.TrimRight(b.Value, "\n"))
	}
	if !same {
		return false
	}
	for i := range a.Content {
		if !sameButTexts(a.Content[i], b.Content[i]) {
			return false
		}
	}
	return true
}

// TestWhatAnOrderLooksAtIsNotCut reads multi-line values.
func TestWhatAnOrderLooksAtIsNotCut(t *testing.T) {
	v, ok := readTextStream([]byte("kind: |-\n  Sec\n  ret\nmetadata:\n  name: a\n  annotations:\n    note: |\n      one\n      two\ndata: |\n  one\n  two\n"))
	require.True(t, ok)
	require.Equal(t, "one\ntwo\n", v.resolved[0].Annotations["note"])
	require.Equal(t, "Sec\nret", v.resolved[0].Kind)
}
