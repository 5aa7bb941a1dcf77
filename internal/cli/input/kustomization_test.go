package input

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/operation/option"
	"github.com/ordapply/ordapply/test/smallmemory"
)

// writeKustomization writes a kustomization of files, each with a ConfigMap whose aliases
// repeat a text of a size.
func writeKustomization(t *testing.T, files, size, times int) string {
	t.Helper()
	folder := t.TempDir()
	list := "resources:\n"
	for n := range files {
		text := fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a%d}\ndata:\n  k: &s %s\n", n, strings.Repeat("s", size))
		for i := range times {
			text += fmt.Sprintf("  k%d: *s\n", i)
		}
		name := fmt.Sprintf("%d.yaml", n)
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600))
		list += "- " + name + "\n"
	}
	require.NoError(t, os.WriteFile(filepath.Join(folder, "kustomization.yaml"), []byte(list), 0o600))
	return folder
}

func TestAliasesOfAKustomizationAreBounded(t *testing.T) {
	if !smallmemory.Within(t, 3072) {
		return
	}
	built, err := (&Source{Manifests: option.Manifests{Kustomize: writeKustomization(t, 2, 100, 3)}}).build()
	require.NoError(t, err)
	require.Contains(t, string(built), "k2: "+strings.Repeat("s", 100))
	_, err = (&Source{Manifests: option.Manifests{Kustomize: writeKustomization(t, 1, 1<<20, 5000)}}).build()
	require.ErrorContains(t, err, "0.yaml: its aliases expand to more than 16 MiB")
	_, err = (&Source{Manifests: option.Manifests{Kustomize: writeKustomization(t, 50, 100<<10, 150)}}).build()
	require.ErrorContains(t, err, "4.yaml: the aliases of this file, and of those before it, expand to more than 64 MiB")
}
