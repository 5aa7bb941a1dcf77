package references

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// docs/ordering.md lists every kind that creates Secrets.
func TestFillerKindsAreDocumented(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "ordering.md"))
	require.NoError(t, err)
	_, section, _ := strings.Cut(string(page), "#### What fills Secrets")
	section, _, _ = strings.Cut(section, "####")
	for _, k := range fillerKinds() {
		kind, group, _ := strings.Cut(k.kind, ".")
		require.Contains(t, section, "`"+kind, k.kind)
		require.Contains(t, section, group, k.kind)
	}
}
