package appliers

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/test/testcluster"
)

// into returns a target with a stream.
func into(t *testing.T, stream string) Target {
	to := Target{Kubeconfig: "KUBECONFIG", Namespace: "shop", Dir: filepath.Join(t.TempDir(), "stream")}
	require.NoError(t, os.Mkdir(to.Dir, 0o755))
	require.NoError(t, os.WriteFile(to.File(), []byte(stream), 0o644))
	return to
}

// read returns a file of the chart; "" if there is none.
func read(t *testing.T, to Target, name string) string {
	text, err := os.ReadFile(filepath.Join(to.Chart(), name))
	if !os.IsNotExist(err) {
		require.NoError(t, err)
	}
	return string(text)
}

// CustomResourceDefinitions are in crds/, as Helm's documentation wants it: Helm waits for them.
// Nothing in the stream is a template.
func TestChart(t *testing.T) {
	to := into(t, "---\nkind: CustomResourceDefinition\ndescription: '{{ x }}'\n---\nkind: Rule\ntext: \"{{ $labels.pod }} {{- 'a' -}}\"\nkept: |+\n  x\n\n---\nkind: ConfigMap\ndata:\n  crd: |\n    kind: CustomResourceDefinition\n")
	require.NoError(t, Helm().Prepare(to))
	require.Equal(t, "kind: CustomResourceDefinition\ndescription: '{{ x }}'\n", read(t, to, "crds/000.yaml"))
	require.Equal(t, "kind: Rule\ntext: \"{{\"{{\"}} $labels.pod }} {{\"{{\"}}- 'a' -}}\"\nkept: |+\n  x\n\n---\nkind: ConfigMap\ndata:\n  crd: |\n    kind: CustomResourceDefinition\n", read(t, to, "templates/000.yaml"))
	require.Empty(t, read(t, to, "templates/001.yaml"))
}

// Helm renders the chart to what the stream says.
func TestHelmRendersTheStream(t *testing.T) {
	helm, err := Helm().Find()
	if err != nil {
		testcluster.Skip(t, "Helm (run `make helm-referee`)")
	}
	to := into(t, "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  x: \"{{ $labels.pod }} {{- 'a' -}} {{{{ }}\"\n")
	require.NoError(t, Helm().Prepare(to))
	out, err := run(helm, "template", to.Chart())
	require.NoError(t, err, out)
	require.Contains(t, out, `x: "{{ $labels.pod }} {{- 'a' -}} {{{{ }}"`)
}

// A file of a chart has at most 4 MiB, and whole documents.
func TestLargeChart(t *testing.T) {
	document := "kind: ConfigMap\ntext: " + strings.Repeat("x", 3<<20) + "\n"
	to := into(t, document+"---\n"+document+"---\n")
	require.NoError(t, Helm().Prepare(to))
	require.Equal(t, document, read(t, to, "templates/000.yaml"))
	require.Equal(t, document, read(t, to, "templates/001.yaml"))
}

// A chart of another stream has nothing of the one before.
func TestChartIsWrittenAnew(t *testing.T) {
	to := into(t, "kind: CustomResourceDefinition\n")
	require.NoError(t, Helm().Prepare(to))
	require.NoError(t, os.WriteFile(to.File(), []byte("kind: ConfigMap\n"), 0o644))
	require.NoError(t, Helm().Prepare(to))
	require.Empty(t, read(t, to, "crds/000.yaml"))
	require.Equal(t, "kind: ConfigMap\n", read(t, to, "templates/000.yaml"))
}

// Objects without a namespace go to that of the target if it says so. kapp and Helm always do
// that.
func TestNamespaceOfObjects(t *testing.T) {
	to := Target{Kubeconfig: "KUBECONFIG", Namespace: "shop", Dir: "DIR"}
	for _, a := range All() {
		asked := a.Name == "kubectl" || a.Name == "kapply"
		require.Equal(t, !asked, strings.Contains(strings.Join(a.Apply(to), " "), "shop"), a.Name)
		into := to
		into.Into = true
		require.Contains(t, strings.Join(a.Apply(into), " "), "shop")
	}
}
