package auditlog

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEachEvent(t *testing.T) {
	file := filepath.Join(t.TempDir(), "audit.log")
	text := `{"verb":"get"}` + "\n" + `{"verb":"list"}` + "\n" + `{"verb":"patch"}` + "\n" + `{"verb":"del`
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	second := int64(strings.Index(text, "\n") + 1)
	for _, c := range []struct {
		name string
		from int64
		verb []string
	}{
		{"from the start", 0, []string{"get", "list", "patch"}},
		{"from inside the first line", 5, []string{"list", "patch"}},
		{"from an end of a line that is not written yet", second - 1, []string{"list", "patch"}},
		{"from a line's start", second, []string{"list", "patch"}},
		{"from inside the last line", int64(len(text)), nil},
		{"from beyond the end", int64(len(text)) + 10, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			var verbs []string
			require.NoError(t, eachEvent(file, c.from, func(r record) { verbs = append(verbs, r.Verb) }))
			require.Equal(t, c.verb, verbs)
		})
	}
	require.NoError(t, os.WriteFile(file, []byte("nothing of JSON\n"), 0o600))
	require.ErrorContains(t, eachEvent(file, 0, func(record) {}), "read the audit log")
}
