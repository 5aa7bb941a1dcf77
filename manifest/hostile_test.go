package manifest

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/stretchr/testify/require"
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
		"a: &self {b: *self}\n":                           "anchor 'self' value contains itself",
		"kind: Secret\ndata: {hunter2: a, hunter2: b}\n":  "duplicate key",
		"kind: ConfigMap\ndata: {colour: a, colour: b}\n": `key "colour" already set in map`,
		"Error: INSTALLATION FAILED: chart: not found\n":  `not a manifest but an error message of the previous command: "Error: INSTALLATION FAILED: chart: not found"`,
		laughs: "excessive aliasing",
	} {
		_, err := Read("in", strings.NewReader(in))
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), "hunter2")
	}
}
