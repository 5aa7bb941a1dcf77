package operation

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The commit is that of the CI system, whichever it is; only a hash is stored.
func TestCommitOfAPipeline(t *testing.T) {
	hash := strings.Repeat("0123456789abcdef", 3)[:40]
	for _, name := range commitVariables() {
		only := map[string]string{name: hash}
		require.Equal(t, hash, commit(func(requested string) string { return only[requested] }), name)
	}
	for _, value := range []string{"", "main", "token", strings.Repeat("a", 65), hash + "\n", "DEADBEEF"} {
		require.Empty(t, commit(func(string) string { return value }), value)
	}
}
