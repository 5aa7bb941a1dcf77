package fn_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/fn"
	"github.com/ordapply/ordapply/sortorder"
)

// Work is linear in the number of documents, in any layout: ten times as many
// need about ten times the allocations.
func TestWorkIsLinear(t *testing.T) {
	order, err := sortorder.Parse([]byte("apiVersion: ordapply.dev/v1alpha1\nkind: SortOrder\nmetadata: {name: shop}\nsortOrder: [{kind: ConfigMap, layer: first}]\n"))
	require.NoError(t, err)
	for name, document := range map[string]string{
		"plain": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: cm-%d\n---\n",
		"flow":  "{apiVersion: v1, kind: ConfigMap, metadata: {name: cm-%d}}\n---\n",
		"CRLF":  "apiVersion: v1\r\nkind: ConfigMap\r\nmetadata:\r\n  name: cm-%d\r\n---\n",
	} {
		allocations := func(n int) float64 {
			var stream strings.Builder
			for i := range n {
				fmt.Fprintf(&stream, document, i)
			}
			in := []byte(stream.String())
			return testing.AllocsPerRun(1, func() { require.False(t, fn.Processor{Order: order}.Run(in).Findings.Failed()) })
		}
		few, many := allocations(200), allocations(2000)
		t.Logf("%s: %.0f allocations for 200 documents, %.0f for 2,000: %.1f times", name, few, many, many/few)
		require.Less(t, many/few, 12.0, name)
	}
}

// An error message of a renderer in the stream is an error.
func TestTheErrorOfARenderIsRefused(t *testing.T) {
	for _, line := range []string{"Error: something failed", "Error: INSTALLATION FAILED: a: b"} {
		out := fn.Processor{Order: sortorder.Default()}.Run([]byte("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n---\n" + line + "\n"))
		require.True(t, out.Findings.Failed())
		require.Contains(t, out.Findings.Lines(), `document 2: not a manifest but an error message of the previous command: "`+line+`"`)
		require.Empty(t, out.Stream())
	}
}
