package fn_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/fn"
)

// TestStrip removes annotations of runs, including maps that become empty.
func TestStrip(t *testing.T) {
	for in, want := range map[string]string{
		"kind: A\nmetadata:\n  name: a\n  annotations:\n    ordapply.dev/layer: x/y\n    ordapply.dev/wave: \"0\"\n":                 "kind: A\nmetadata:\n  name: a\n",
		"kind: A\nmetadata:\n  annotations:\n    ordapply.dev/layer: x/y\n    ordapply.dev/wave: \"0\"\n":                            "kind: A\n",
		"kind: A\nmetadata:\n  name: a\n  annotations:\n    ordapply.dev/layer: x/y\n    tier: web\n":                                "kind: A\nmetadata:\n  name: a\n  annotations:\n    tier: web\n",
		"kind: A\nmetadata: {name: a, annotations: {ordapply.dev/layer: x/y}}\n":                                                     "kind: A\nmetadata: {name: a}\n",
		"kind: A\nmetadata:\n  name: a\n  annotations:\n    argocd.argoproj.io/sync-wave: \"3\"\n":                                   "kind: A\nmetadata:\n  name: a\n  annotations:\n    argocd.argoproj.io/sync-wave: \"3\"\n",
		"kind: A\nmetadata:\n  name: a\n  annotations:\n    argocd.argoproj.io/sync-wave: \"3\"\n    ordapply.dev/emitted: argocd\n": "kind: A\nmetadata:\n  name: a\n",
	} {
		out := fn.Strip([]byte(in))
		require.Equal(t, want, string(out.Stream()), out.Findings.Lines())
		require.Equal(t, want, string(fn.Strip(out.Stream()).Stream()))
	}
}
