package fn_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/fn"
	"github.com/ordapply/ordapply/internal/author/edit"
)

// TestCorporaVerbatim checks all invariants on real streams. All except the
// listed ones must be read by lines, and all of them as a ResourceList.
func TestCorporaVerbatim(t *testing.T) {
	slow := map[string]string{
		"kube-prometheus": "it has a RoleBindingList",
	}
	for _, file := range realStreams(t) {
		name := filepath.Base(file)
		t.Run(name, func(t *testing.T) {
			stream, err := os.ReadFile(file)
			require.NoError(t, err)
			list := []byte(wrapped(string(fn.Function{Order: testOrder(t)}.Run(stream).Stream())))
			requireInvariants(t, stream)
			requireInvariants(t, list)
			_, fast := edit.PlainItems(stream)
			_, isSlow := slow[name[:len(name)-len(".yaml")]]
			require.Equal(t, isSlow, !fast)
			_, fast = edit.PlainItems(list)
			require.True(t, fast)
		})
	}
}
