package manifest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A document that cannot be decoded with others changes nothing for them, and has the same error
// as alone.
func TestDocumentsThatAreNotPlain(t *testing.T) {
	for name, other := range map[string]string{
		"plain":         "kind: Other\napiVersion: v1\nmetadata: {name: other}\n",
		"a fraction":    "kind: Other\napiVersion: v1\nmetadata: {name: other}\nspec: {share: 1.0, part: 0.5}\n",
		"aliases":       "kind: Other\napiVersion: v1\nmetadata: {name: &n other, labels: {app: *n}}\n",
		"an inline map": "{kind: Other, apiVersion: v1, metadata: {name: other}}\n",
		"a key twice":   "kind: Other\napiVersion: v1\nmetadata: {name: other}\nkind: Other\n",
		"an open quote": "kind: Other\napiVersion: v1\nmetadata: {name: 'other}\n",
		"a second map":  "kind: Other\napiVersion: v1\nmetadata: {name: other}\n}\n",
		"an error":      "Error: no chart\n",
	} {
		t.Run(name, func(t *testing.T) {
			alone, aloneErr := Read("STDIN", strings.NewReader(other))
			var documents []string
			for i := range 2*groupSize + 5 {
				documents = append(documents, fmt.Sprintf("kind: ConfigMap\napiVersion: v1\nmetadata: {name: c%d}\ndata: {number: \"%d\", whole: 'no'}\n", i, i))
			}
			const at = groupSize + 3
			documents[at] = other
			manifests, err := Read("STDIN", strings.NewReader(strings.Join(documents, "---\n")))
			if aloneErr != nil {
				require.ErrorContains(t, err, fmt.Sprintf("STDIN, document %d (line %d): ", at+1, 5*at+1))
				require.Len(t, strings.Split(err.Error(), "\n"), len(strings.Split(aloneErr.Error(), "\n")))
			} else {
				require.NoError(t, err)
				require.Equal(t, alone[0].Object, manifests[at].Object)
				manifests = slices.Delete(manifests, at, at+1)
			}
			require.Len(t, manifests, len(documents)-1)
			for i, m := range manifests {
				n := i
				if i >= at {
					n++
				}
				require.Equal(t, fmt.Sprintf("c%d", n), m.GetName())
				require.Equal(t, map[string]any{"number": fmt.Sprint(n), "whole": "no"}, m.Object["data"])
				require.Equal(t, fmt.Sprintf("STDIN, document %d (line %d)", n+1, line(documents, n)), m.Source)
				require.Contains(t, string(m.Text), documents[n])
			}
		})
	}
}

// line returns the line of a document in a stream.
func line(documents []string, n int) int {
	at := 1
	for _, before := range documents[:n] {
		at += strings.Count(before, "\n") + 1
	}
	return at
}

// Documents with aliases are alone, so that not a whole group expands before the limit of a stream
// is seen. An error of the stream comes after the documents before it.
func TestGroups(t *testing.T) {
	broken := errors.New("broken")
	plain, aliases := document{text: []byte("a: b\n")}, document{text: []byte("a: &b c\nd: *b\n")}
	large := document{text: []byte("a: " + strings.Repeat("b", groupBytes) + "\n")}
	var sizes []int
	var failure error
	for group, err := range groups(func(yield func(document, error) bool) {
		for _, doc := range slices.Concat(slices.Repeat([]document{plain}, groupSize+2), []document{aliases, aliases, plain, large, plain}) {
			if !yield(doc, nil) {
				return
			}
		}
		yield(document{}, broken)
	}) {
		if failure = err; err == nil {
			sizes = append(sizes, len(group))
		}
	}
	require.Equal(t, []int{groupSize, 2, 1, 1, 2, 1}, sizes)
	require.ErrorIs(t, failure, broken)
}

// A text at the top of a document may hide the marker after it, and a line break that only YAML
// knows may hide another: documents are counted as they were cut.
func TestHiddenMarkers(t *testing.T) {
	stream := "|\nkind: Swallowed\n---\nkind: ConfigMap\napiVersion: v1\nmetadata: {name: one}\n---\n" +
		"kind: ConfigMap\napiVersion: v1\nmetadata: {name: two} # \u2028---\nkind: ConfigMap\napiVersion: v1\nmetadata: {name: three}\n"
	manifests, err := Read("STDIN", strings.NewReader(stream))
	require.ErrorContains(t, err, "STDIN, document 1 (line 1): ")
	require.ErrorContains(t, err, "STDIN, document 3")
	require.Len(t, manifests, 1)
	require.Equal(t, "one", manifests[0].GetName())
}
