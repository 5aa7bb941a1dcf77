package fn_test

import (
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/ordapply/ordapply/fn"
)

// Older versions of a ResourceList, and one in JSON, get the same items, results and unknown
// fields.
func TestListForms(t *testing.T) {
	archive, err := txtar.ParseFile("testdata/run/list_forms.txtar")
	require.NoError(t, err)
	in := string(archive.Files[0].Data)
	content := func(list string) map[string]any {
		out := fn.Processor{}.Run([]byte(list))
		require.False(t, out.Findings.Failed(), out.Findings.Lines())
		var decoded map[string]any
		require.NoError(t, yaml.Unmarshal(out.Stream(), &decoded))
		return decoded
	}
	want := content(in)
	require.Len(t, want["items"], 5)
	require.Equal(t, map[string]any{"keep": "me"}, want["unknownField"])
	for _, version := range []string{"v1alpha1", "v1beta1"} {
		got := content(strings.Replace(in, "config.kubernetes.io/v1\n", "config.kubernetes.io/"+version+"\n", 1))
		require.Equal(t, "config.kubernetes.io/"+version, got["apiVersion"])
		got["apiVersion"] = want["apiVersion"]
		require.Equal(t, want, got, version)
	}
	asJSON, err := yaml.YAMLToJSON([]byte(in))
	require.NoError(t, err)
	require.Equal(t, want, content(string(asJSON)))
}
