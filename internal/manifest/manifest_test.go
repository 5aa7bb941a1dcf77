package manifest_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/internal/manifest"
)

// A rendered chart says where each document comes from; items of a List have no
// text of their own.
func TestChartAndText(t *testing.T) {
	stream := "---\n# Source: foo/charts/bar/templates/sub/a.yaml\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a} # kept\n" +
		"---\n# Source: foo/crds/b.yaml\n# more\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\n" +
		"---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata:\n  x: |\n    # Source: other/templates/c.yaml\n" +
		"---\n# Source: foo/templates/list.yaml\napiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: d}}\n"
	manifests, err := manifest.Read("STDIN", []byte(stream))
	require.NoError(t, err)
	require.Len(t, manifests, 4)
	charts := []string{}
	for _, m := range manifests {
		charts = append(charts, m.Chart)
	}
	require.Equal(t, []string{"foo/charts/bar", "foo", "", "foo"}, charts)
	require.Contains(t, string(manifests[0].Text), "# kept")
	require.Nil(t, manifests[3].Text)
}

// Values that YAML takes for numbers would lose every annotation beside them.
func TestAnnotationsAreTexts(t *testing.T) {
	_, err := manifest.Read("STDIN", []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, annotations: {b: c, argocd.argoproj.io/sync-wave: -5}}\n"))
	require.EqualError(t, err, `STDIN, document 1 (line 1): ConfigMap a: metadata.annotations: the value of argocd.argoproj.io/sync-wave is no text: write "-5", in quotes`)
	_, err = manifest.Read("STDIN", []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, labels: {enabled: true}}\n"))
	require.ErrorContains(t, err, `metadata.labels: the value of enabled is no text: write "true", in quotes`)
	manifests, err := manifest.Read("STDIN", []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, annotations: {none: null, helm.sh/depends-on/layers: [database, queue]}}\n"))
	require.NoError(t, err)
	require.Equal(t, map[string]string{"helm.sh/depends-on/layers": `["database","queue"]`}, manifests[0].GetAnnotations())
}
