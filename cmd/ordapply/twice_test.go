package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/internal/cli/report"
)

// With 2>&1, as in the log of a pipeline, nothing is printed twice: the progress names every
// resource, and results would repeat them.
func TestNothingIsPrintedTwice(t *testing.T) {
	cluster := shared.Get(t)
	stream := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: printed-once}\n"
	apply := func(flags ...string) string {
		log, err := os.Create(filepath.Join(t.TempDir(), "log"))
		require.NoError(t, err)
		defer log.Close()
		args := append([]string{"apply", "-f", "-", "--kubeconfig", cluster.Kubeconfig}, flags...)
		code := run(context.Background(), args, strings.NewReader(stream), log, log)
		text, err := os.ReadFile(log.Name())
		require.NoError(t, err)
		require.Equal(t, report.ExitDone, code, string(text))
		return string(text)
	}
	first := apply()
	require.Equal(t, 1, strings.Count(first, "printed-once"), first)
	again := apply()
	require.Equal(t, 0, strings.Count(again, "printed-once"), again)
	require.Contains(t, again, "; 1 unchanged\n")
	require.Contains(t, apply("-o", "name"), "configmap/printed-once\n", "asked for")
}
