package fn_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/fn"
)

// TestStrip removes annotations of runs, including maps that become empty.
func TestStrip(t *testing.T) {
	for in, want := range map[string]string{
		"apiVersion: v1\nkind: A\nmetadata:\n  name: a\n  annotations:\n    ordapply.dev/layer: x/y\n    ordapply.dev/wave: \"0\"\n":                 "apiVersion: v1\nkind: A\nmetadata:\n  name: a\n",
		"apiVersion: v1\nkind: A\nmetadata:\n  annotations:\n    ordapply.dev/layer: x/y\n    ordapply.dev/wave: \"0\"\n":                            "apiVersion: v1\nkind: A\n",
		"apiVersion: v1\nkind: A\nmetadata:\n  name: a\n  annotations:\n    ordapply.dev/layer: x/y\n    tier: web\n":                                "apiVersion: v1\nkind: A\nmetadata:\n  name: a\n  annotations:\n    tier: web\n",
		"apiVersion: v1\nkind: A\nmetadata: {name: a, annotations: {ordapply.dev/layer: x/y}}\n":                                                     "apiVersion: v1\nkind: A\nmetadata: {name: a}\n",
		"apiVersion: v1\nkind: A\nmetadata:\n  name: a\n  annotations:\n    argocd.argoproj.io/sync-wave: \"3\"\n":                                   "apiVersion: v1\nkind: A\nmetadata:\n  name: a\n  annotations:\n    argocd.argoproj.io/sync-wave: \"3\"\n",
		"apiVersion: v1\nkind: A\nmetadata:\n  name: a\n  annotations:\n    argocd.argoproj.io/sync-wave: \"3\"\n    ordapply.dev/emitted: argocd\n": "apiVersion: v1\nkind: A\nmetadata:\n  name: a\n",
	} {
		out := fn.Strip([]byte(in))
		require.Equal(t, want, string(out.Stream()), out.Findings.Lines())
		require.Equal(t, want, string(fn.Strip(out.Stream()).Stream()))
	}
}
