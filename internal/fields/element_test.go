package fields

import (
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

func element(t *testing.T, text string) fieldpath.PathElement {
	t.Helper()
	at, err := fieldpath.DeserializePathElement(text)
	require.NoError(t, err)
	return at
}

func TestText(t *testing.T) {
	for want, path := range map[string]fieldpath.Path{
		"spec.replicas": fieldpath.MakePathOrDie("spec", "replicas"),
		`metadata.annotations["example.com/note"]`:      fieldpath.MakePathOrDie("metadata", "annotations", "example.com/note"),
		"spec.template.spec.containers[name=app].image": fieldpath.MakePathOrDie("spec", "template", "spec", "containers", element(t, `k:{"name":"app"}`), "image"),
		"spec.ports[port=80,protocol=TCP]":              fieldpath.MakePathOrDie("spec", "ports", element(t, `k:{"port":80,"protocol":"TCP"}`)),
		`metadata.finalizers[="example.com/f"]`:         fieldpath.MakePathOrDie("metadata", "finalizers", value.NewValueInterface("example.com/f")),
		"spec.rules[2]":                                 fieldpath.MakePathOrDie("spec", "rules", 2),
	} {
		require.Equal(t, want, Text(path))
		_, err := Parse(want)
		if path[0].FieldName != nil && *path[0].FieldName == "spec" && want != "spec.rules[2]" {
			require.NoError(t, err, "the annotation takes it")
		}
	}
}

func TestItems(t *testing.T) {
	at := element(t, `k:{"port":80,"protocol":"TCP"}`)
	whole := map[string]any{"port": int64(80), "protocol": "TCP", "name": "http"}
	part := map[string]any{"port": int64(80)}
	require.True(t, IsItem(whole, at))
	require.False(t, IsItem(part, at))
	require.True(t, MayBeItem(part, at))
	require.False(t, MayBeItem(map[string]any{"port": int64(81)}, at))
	require.False(t, MayBeItem(map[string]any{"name": "http"}, at), "it has none of the keys")
	require.True(t, IsItem("a", element(t, `v:"a"`)))
	require.True(t, MayBeItem("a", element(t, `v:"a"`)))
	require.False(t, IsItem("b", element(t, `v:"a"`)))
	require.True(t, StartsWith(fieldpath.MakePathOrDie("metadata", "labels", "a"), "metadata", "labels"))
	require.False(t, StartsWith(fieldpath.MakePathOrDie("metadata"), "metadata", "labels"))
}
