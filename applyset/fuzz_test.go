package applyset

import (
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/object"
)

// Reading a parent terminates for any labels and annotations, and reading the
// written result gives the same parent.
func FuzzReadParent(f *testing.F) {
	f.Add("", "ordapply/v1", "ConfigMap,Deployment.apps", "other,third", "deployments.apps")
	f.Add("applyset-x-v1", "kubectl/v1.30", " , ,Secret,.apps,Kind.", " ,a,a", ",")
	f.Add("", "", "\x00.\n,ConfigMap.v1.", "ns\n,..", "")
	f.Fuzz(func(t *testing.T, id, tooling, kinds, namespaces, resources string) {
		live := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Secret"}}
		live.SetNamespace("shop")
		live.SetName("shop")
		if id != "" {
			live.SetLabels(map[string]string{IDLabel: id})
		}
		live.SetAnnotations(map[string]string{ToolingAnnotation: tooling, GroupKindsAnnotation: kinds, NamespacesAnnotation: namespaces, ResourcesAnnotation: resources})
		MissingGroupKinds(live)
		Resources(live)
		p, err := ReadParent(live)
		if err != nil {
			return
		}
		live.SetAnnotations(p.Annotations())
		again, err := ReadParent(live)
		require.NoError(t, err)
		require.True(t, p.Equal(again), "%v %v", p, again)
		wide := p.WithMembers([]object.ID{{Kind: "ConfigMap", Namespace: "more", Name: "a"}})
		for _, kind := range p.Kinds {
			require.Contains(t, wide.Kinds, kind, "a promise only grows")
		}
	})
}
