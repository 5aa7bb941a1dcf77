package arrange

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestGroupName checks kapp's requirements for names, and that names stay
// distinct.
func TestGroupName(t *testing.T) {
	require.Equal(t, "ordapply.dev/platform.data", groupName("platform/data"))
	seen := map[string]string{}
	for _, layer := range []string{
		"platform/data", "platform/a-b_c.d", "platform/tier=data", "platform/tier-data", "platform/example.com/x", "platform/ends-",
		"platform/-starts", ".platform/x", "a.b/c", "a/b.c", "a/b/c", "=/=", strings.Repeat("x", 80) + "/y", strings.Repeat("x", 81) + "/y",
	} {
		name := groupName(layer)
		require.Empty(t, seen[name], "%s and %s are both %s", seen[name], layer, name)
		seen[name] = layer
		_, local, _ := strings.Cut(name, "/")
		require.LessOrEqual(t, len(local), 63, name)
		require.Regexp(t, `^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$`, local)
	}
}
