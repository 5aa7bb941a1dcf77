package manifest

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/internal/limits"
	"github.com/ordapply/ordapply/test/smallmemory"
)

const small = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ä}\n"

func wide(text string, bigEndian bool) []byte {
	var out []byte
	for _, unit := range utf16.Encode([]rune("\ufeff" + text)) {
		if bigEndian {
			out = append(out, byte(unit>>8), byte(unit))
		} else {
			out = append(out, byte(unit), byte(unit>>8))
		}
	}
	return out
}

func TestWhatEditorsWriteIsRead(t *testing.T) {
	for name, in := range map[string][]byte{
		"UTF-16, little endian": wide(small+"---\n"+small, false),
		"UTF-16, big endian":    wide(small+"---\n"+small, true),
		"marks":                 []byte("\ufeff" + small + "---\n\ufeff" + small),
		"joined behind ...":     []byte(small + "...\n\ufeff" + small),
		"directives":            []byte("%YAML 1.2\n---\n" + small + "...\n%YAML 1.1\n# comment\n---\n" + small),
		"an empty list":         []byte(small + "---\napiVersion: v1\nkind: List\nitems: null\n---\n" + small + "---\nkind: PodList\napiVersion: v1\nitems:\n"),
	} {
		read, err := Read("in", bytes.NewReader(in))
		require.NoError(t, err, name)
		require.Len(t, read, 2, name)
		for _, m := range read {
			require.Equal(t, "ä", m.GetName(), name)
			again, err := Read("its text", bytes.NewReader(m.Text))
			require.NoError(t, err, name)
			require.Equal(t, "ä", again[0].GetName(), name)
		}
	}
	_, err := Read("in", bytes.NewReader(append(wide(small, false), '\n')))
	require.ErrorContains(t, err, "ends in the middle of a character")
}

func TestWhatYAMLErrorsSay(t *testing.T) {
	laughs := "a: &a [x, x, x, x, x, x, x, x, x, x]\n"
	for c := 'b'; c < 'l'; c++ {
		laughs += string(c) + ": &" + string(c) + " [" + strings.Repeat("*"+string(c-1)+", ", 9) + "*" + string(c-1) + "]\n"
	}
	for in, want := range map[string]string{
		"b: &there x\na: *gone\n":                         "unknown anchor 'gone' referenced",
		"a: &self {b: *self}\n":                           "line 1: an alias is inside its own anchor",
		"kind: Secret\ndata: {hunter2: a, hunter2: b}\n":  "duplicate key",
		"kind: ConfigMap\ndata: {colour: a, colour: b}\n": `key "colour" already set in map`,
		"Error: INSTALLATION FAILED: chart: not found\n":  `not a manifest but an error message of the previous command: "Error: INSTALLATION FAILED: chart: not found"`,
		laughs: "its aliases expand to more than 16 MiB: replace aliases with their values",
	} {
		_, err := Read("in", strings.NewReader(in))
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), "hunter2")
	}
}

// repeating returns a document whose aliases repeat a text, n times.
func repeating(size, n int) string {
	text := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  k: &s \"" + strings.Repeat("s", size) + "\"\n"
	for i := range n {
		text += fmt.Sprintf("  k%d: *s\n", i)
	}
	return text
}

func TestAliasesOfAStreamAreBounded(t *testing.T) {
	if !smallmemory.Within(t, 2560) {
		return
	}
	_, err := Read("in", strings.NewReader(repeating(1<<20, 5000)))
	require.ErrorContains(t, err, "in, document 1 (line 1): its aliases expand to more than 16 MiB: replace aliases with their values, or split the document")
	one := repeating(100<<10, 150)
	_, err = Read("in", strings.NewReader(one))
	require.NoError(t, err)
	_, err = Read("in", strings.NewReader(strings.Repeat(one+"---\n", 100)))
	require.EqualError(t, err, "in: the aliases of its documents expand to more than 64 MiB: replace aliases with their values")
}

func TestListsInsideOneAnother(t *testing.T) {
	lists := func(depth int) string {
		return strings.Repeat("{apiVersion: v1, kind: List, items: [", depth) + "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}" + strings.Repeat("]}", depth)
	}
	read, err := Read("in", strings.NewReader(lists(limits.ListDepth)))
	require.NoError(t, err)
	require.Len(t, read, 1)
	for _, depth := range []int{limits.ListDepth + 1, 3000} {
		_, err = Read("in", strings.NewReader(lists(depth)))
		require.EqualError(t, err, "in, document 1 (line 1): more than 10 Lists are inside one another: put their items in one List")
	}
}
