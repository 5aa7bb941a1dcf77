package tree

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// Values that are decoded together are those that sigs.k8s.io/yaml and JSON give for each document.
func TestPlainValuesAreThoseOfJSON(t *testing.T) {
	for name, c := range map[string]struct {
		document string
		notPlain bool
	}{
		"texts":                 {document: "kind: A\nmetadata: {name: 'it''s', note: \"a\\tb\\u2028 <&>\"}\n"},
		"blocks":                {document: "a: |\n  one\n\n  two\nb: >-\n  three\n  four\nc: |+\n  five\n\n"},
		"a block at the end":    {document: "a: |\n  one"},
		"whole numbers":         {document: "a: 1\nb: -7\nc: 0x1F\nd: 0o17\ne: 017\nf: 1_000\ng: 9223372036854775807\n"},
		"booleans and nulls":    {document: "a: true\nb: off\nc: Yes\nd: null\ne: ~\nf:\ng: n\n"},
		"lists":                 {document: "a:\n- b\n- - 1\n  - {c: d}\n- []\ne: {}\n"},
		"a time":                {document: "a: 2001-12-14T21:59:43Z\nb: 2001-12-14\n"},
		"a merged map":          {document: "a: {<<: {b: 1}, c: 2}\n"},
		"binary that is text":   {document: "a: !!binary aGVsbG8=\n"},
		"a tagged text":         {document: "a: !!str 12\nb: !custom c\n"},
		"comments and an empty": {document: "# one\n\na: b # two\n# three\n"},
		"fractions":             {document: "a: 1.5\n", notPlain: true},
		"a whole fraction":      {document: "a: 1.0\nb: 1e3\n", notPlain: true},
		"a large number":        {document: "a: 18446744073709551615\n", notPlain: true},
		"not a number":          {document: "a: .nan\n", notPlain: true},
		"keys that are numbers": {document: "a: {1: b, true: c}\n", notPlain: true},
		"a key that is null":    {document: "a: {~: b}\n", notPlain: true},
		"binary":                {document: "a: !!binary /w==\n", notPlain: true},
		"a key twice":           {document: "a: 1\nb: 2\na: 3\n", notPlain: true},
		"an open quote":         {document: "a: 'b\n", notPlain: true},
		"an open list":          {document: "a: [b\n", notPlain: true},
		"a tab":                 {document: "a:\n\tb: c\n", notPlain: true},
		"a tagged fault":        {document: "a: !!int b\n", notPlain: true},
	} {
		t.Run(name, func(t *testing.T) {
			before, after := "kind: Before\nnumber: 1\n", "kind: After\nlist: [a]\n"
			values, ok := PlainValues([][]byte{[]byte(before), []byte(c.document), []byte(after)})
			require.Equal(t, !c.notPlain, ok)
			if !ok {
				return
			}
			for i, document := range []string{before, c.document, after} {
				body, err := ToJSON([]byte(document))
				require.NoError(t, err)
				var want any
				require.NoError(t, utiljson.Unmarshal(body, &want))
				require.Equal(t, want, values[i])
			}
		})
	}
}

// More or fewer documents than were given are not taken for them.
func TestPlainValuesCountsDocuments(t *testing.T) {
	_, ok := PlainValues([][]byte{[]byte("a: 1\n---\nb: 2\n")})
	require.False(t, ok)
}

// An alias finds no anchor of another document.
func TestPlainValuesKeepsDocumentsApart(t *testing.T) {
	_, ok := PlainValues([][]byte{[]byte("a: &one 1\n"), []byte("b: *one\n")})
	require.False(t, ok)
}

func FuzzPlainValues(f *testing.F) {
	f.Add("a: 1\nb: [x, {y: 'z'}]\n")
	f.Add("a: |\n  text\nb: !!binary aGk=\n")
	f.Fuzz(func(t *testing.T, document string) {
		if MayHaveAliases([]byte(document)) || !strings.HasPrefix(document, "a:") || OddBreaks([]byte(document)) || strings.Contains(document, "\n---") || strings.Contains(document, "\n...") {
			return
		}
		values, ok := PlainValues([][]byte{[]byte("kind: Before\n"), []byte(document), []byte("kind: After\n")})
		if !ok {
			return
		}
		body, err := ToJSON([]byte(document))
		require.NoError(t, err)
		var want any
		require.NoError(t, utiljson.Unmarshal(body, &want))
		require.Equal(t, want, values[1])
	})
}
