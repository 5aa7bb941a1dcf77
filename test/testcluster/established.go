package testcluster

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Established waits until CustomResourceDefinitions are established, given as to kubectl:
// crd/NAME, or crd --all.
func (c *Cluster) Established(t testing.TB, crds ...string) {
	t.Helper()
	require.NoError(t, c.TryEstablished(crds...))
}

// TryEstablished is Established for callers without a test. `kubectl wait` alone is not enough:
// it fails for a CustomResourceDefinition that has no conditions yet.
func (c *Cluster) TryEstablished(crds ...string) error {
	for {
		out, err := c.TryKubectl(append([]string{"wait", "--for=condition=Established", "--timeout=3m"}, crds...)...)
		switch {
		case err == nil:
			return nil
		case !strings.Contains(out, "conditions accessor error"):
			return fmt.Errorf("%w: %s", err, out)
		}
	}
}
