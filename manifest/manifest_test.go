package manifest_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/manifest"
)

// The comments of a rendered chart give each document's chart; items of a List
// have no text.
func TestChartAndText(t *testing.T) {
	stream := "---\n# Source: foo/charts/bar/templates/sub/a.yaml\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a} # kept\n" +
		"---\n# Source: foo/crds/b.yaml\n# more\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\n" +
		"---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata:\n  x: |\n    # Source: other/templates/c.yaml\n" +
		"---\n# Source: foo/templates/list.yaml\napiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: d}}\n"
	manifests, err := manifest.Read("STDIN", strings.NewReader(stream))
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

// What configures a package is no resource; a ResourceGroup is, if it is not the inventory
// that kpt live init writes.
func TestLocalConfigurationIsSkipped(t *testing.T) {
	labels := "labels: {cli-utils.sigs.k8s.io/inventory-id: shop-1}"
	stream := "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {name: a}\n" +
		"---\napiVersion: kpt.dev/v1alpha1\nkind: ResourceGroup\nmetadata: {name: b, " + labels + "}\n" +
		"---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, annotations: {config.kubernetes.io/local-config: 'true'}}\n" +
		"---\napiVersion: kpt.dev/v1alpha1\nkind: ResourceGroup\nmetadata: {name: d}\n" +
		"---\napiVersion: example.com/v1\nkind: ResourceGroup\nmetadata: {name: e, " + labels + "}\n"
	manifests, err := manifest.Read("STDIN", strings.NewReader(stream))
	require.NoError(t, err)
	names := []string{}
	for _, m := range manifests {
		names = append(names, m.GetName())
	}
	require.Equal(t, []string{"d", "e"}, names)
}

// Values that YAML reads as numbers would lose all other annotations.
func TestAnnotationsAreTexts(t *testing.T) {
	_, err := manifest.Read("STDIN", strings.NewReader("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, annotations: {b: c, argocd.argoproj.io/sync-wave: -5}}\n"))
	require.EqualError(t, err, `STDIN, document 1 (line 1): ConfigMap a: metadata.annotations: the value of argocd.argoproj.io/sync-wave is not a string, YAML reads it as -5: put the value in quotes`)
	_, err = manifest.Read("STDIN", strings.NewReader("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, labels: {enabled: true}}\n"))
	require.ErrorContains(t, err, `metadata.labels: the value of enabled is not a string, YAML reads it as true: put the value in quotes`)
	_, err = manifest.Read("STDIN", strings.NewReader("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: 123}\n"))
	require.EqualError(t, err, `STDIN, document 1 (line 1): ConfigMap: metadata.name is not a string, YAML reads it as 123: put the value in quotes`)
	_, err = manifest.Read("STDIN", strings.NewReader("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: no}\n"))
	require.EqualError(t, err, `STDIN, document 1 (line 1): ConfigMap: metadata.namespace is not a string, YAML reads it as false: put the value in quotes`)
	manifests, err := manifest.Read("STDIN", strings.NewReader("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, annotations: {none: null, helm.sh/depends-on/layers: [database, queue]}}\n"))
	require.NoError(t, err)
	annotations, _, _ := unstructured.NestedMap(manifests[0].Object, "metadata", "annotations")
	require.Equal(t, map[string]any{"none": nil, "helm.sh/depends-on/layers": `["database","queue"]`}, annotations, "a null is sent")
}

// Documents may contain passwords: errors state position and type only.
func TestFaultsRepeatNoValues(t *testing.T) {
	cases := map[string]string{
		"password: !!int hunter2secret":                      "cannot decode !!str",
		"password: !!timestamp hunter2secret":                "cannot decode !!str",
		"password: !!float \"hunter2secret 'and' `more`\"":   "cannot decode !!str",
		"? {a: hunter2secret}\n  : b":                        "invalid map key",
		"? [hunter2secret]\n  : b":                           "invalid map key",
		"password: *hunter2secret":                           "unknown anchor",
		"password: 'hunter2secret\n":                         "line ",
		"password: a: hunter2secret":                         "line 5: mapping values are not allowed in this context",
		"password: hunter2secret\n  password: hunter2secret": "line 6: duplicate key",
		"password: @hunter2secret":                           "line 5: found character that cannot start any token",
	}
	for text, want := range cases {
		_, err := manifest.Read("STDIN", strings.NewReader("apiVersion: v1\nkind: Secret\nmetadata: {name: a}\nstringData:\n  "+text+"\n"))
		require.ErrorContains(t, err, want, text)
		require.NotContains(t, err.Error(), "hunter2", text)
		require.NotContains(t, err.Error(), "more", text)
	}
}

// Documents are parsed concurrently, and returned in order, like their errors.
func TestOrderOfManyDocuments(t *testing.T) {
	var stream strings.Builder
	for i := range 500 {
		if i%50 == 7 {
			fmt.Fprintf(&stream, "---\nkind: ConfigMap\nmetadata: {name: c%d}\n", i)
			continue
		}
		fmt.Fprintf(&stream, "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c%d}\n", i)
	}
	read, err := manifest.Read("stream", strings.NewReader(stream.String()))
	require.Len(t, read, 490)
	last := -1
	for _, m := range read {
		var n int
		_, scanErr := fmt.Sscanf(m.GetName(), "c%d", &n)
		require.NoError(t, scanErr)
		require.Greater(t, n, last)
		last = n
	}
	faults := strings.Split(err.Error(), "\n")
	require.Len(t, faults, 10)
	for i, fault := range faults {
		require.Contains(t, fault, fmt.Sprintf("ConfigMap c%d: apiVersion is missing", 50*i+7))
	}
}

// JSON objects may follow each other without a marker, as jq prints them and
// kubectl reads them; a truncated one is an error.
func TestJSONObjectsInARow(t *testing.T) {
	a, b := `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}`, "{\n\"apiVersion\": \"v1\", \"kind\": \"ConfigMap\", \"metadata\": {\"name\": \"b\"}\n}"
	for _, stream := range []string{a + b, a + "\n" + b + "\n", "\n# two\n" + a + "\n\n" + b + "\n# the end\n", a + "\n---\n" + b} {
		manifests, err := manifest.Read("STDIN", strings.NewReader(stream))
		require.NoError(t, err, stream)
		require.Len(t, manifests, 2, stream)
		require.Equal(t, "a", manifests[0].GetName())
		require.Equal(t, "b", manifests[1].GetName())
		require.NotContains(t, string(manifests[0].Text), `"b"`)
	}
	manifests, err := manifest.Read("STDIN", strings.NewReader("# x\n"+a+"\n\n"+b+a))
	require.NoError(t, err)
	require.Equal(t, []string{"STDIN, document 1 (line 2)", "STDIN, document 2 (line 4)", "STDIN, document 3 (line 6)"},
		[]string{manifests[0].Source, manifests[1].Source, manifests[2].Source})

	_, err = manifest.Read("STDIN", strings.NewReader(a+"\n"+`{"apiVersion": "v1", "kind": `))
	require.ErrorContains(t, err, "STDIN, document 2 (line 2)")
	_, err = manifest.Read("STDIN", strings.NewReader("\"apiVersion\": v1\n\"kind\": ConfigMap\nmetadata: {name: a}\n"))
	require.NoError(t, err)
}

// Live objects may have no name, and are returned in spite of other errors.
func TestLiveObjects(t *testing.T) {
	live, err := manifest.ReadLive("STDIN", strings.NewReader("{apiVersion: v1, kind: PodList, items: [{status: {phase: Pending}}]}\n---\nname: nothing\n"))
	require.EqualError(t, err, "STDIN, document 2 (line 3): kind is missing")
	require.Len(t, live, 1)
	require.Equal(t, "Pod", live[0].GetKind())
}
