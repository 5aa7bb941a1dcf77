package apply_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/test/memcluster"
)

func asObjects(manifests ...map[string]any) []*unstructured.Unstructured {
	out := make([]*unstructured.Unstructured, len(manifests))
	for i, manifest := range manifests {
		out[i] = &unstructured.Unstructured{Object: manifest}
	}
	return out
}

func configMap(namespace, color string) map[string]any {
	metadata := map[string]any{"name": "web"}
	if namespace != "" {
		metadata["namespace"] = namespace
	}
	return map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": map[string]any{"color": color}}
}

// Objects names the objects of a conflict by their position, and writes nothing.
func TestObjectsReportsErrorsBeforeWriting(t *testing.T) {
	hook := configMap("", "red")
	hook["metadata"].(map[string]any)["annotations"] = map[string]any{"helm.sh/hook": "pre-delete"}
	for name, tt := range map[string]struct {
		objects []map[string]any
		want    string
	}{
		"two of one ID": {
			[]map[string]any{configMap("", "red"), configMap("default", "green")},
			"object 2: ConfigMap default/web is already defined in object 1, with different contents: keep one of them",
		},
		"a hook": {
			[]map[string]any{hook},
			"annotation helm.sh/hook: pre-delete: Helm creates it before or after an install or upgrade",
		},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := memcluster.NewControlled()
			summary, err := apply.Objects(t.Context(), cluster, asObjects(tt.objects...), apply.Options{})
			require.ErrorContains(t, err, tt.want)
			require.Empty(t, summary.Results)
			require.Empty(t, cluster.Patched)
		})
	}
}

// A namespace is set in the sent objects, and the objects of the caller stay as they are.
func TestObjectsDoesNotChangeItsArguments(t *testing.T) {
	objects := asObjects(configMap("", "green"))
	summary, err := apply.Objects(t.Context(), memcluster.NewControlled(), objects, apply.Options{Namespace: "shop"})
	require.NoError(t, err)
	require.Equal(t, 1, summary.Count(event.Ready))
	require.Equal(t, "shop", summary.Results[0].ID.Namespace)
	require.Equal(t, configMap("", "green"), objects[0].Object)
}
