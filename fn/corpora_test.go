package fn_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/fn"
)

// TestCorpora checks all invariants on real streams, and on each as a ResourceList.
func TestCorpora(t *testing.T) {
	for _, file := range realStreams(t) {
		t.Run(filepath.Base(file), func(t *testing.T) {
			stream, err := os.ReadFile(file)
			require.NoError(t, err)
			requireInvariants(t, stream)
			requireInvariants(t, []byte(wrapped(string(fn.Processor{Order: testOrder(t)}.Run(stream).Stream()))))
		})
	}
}
