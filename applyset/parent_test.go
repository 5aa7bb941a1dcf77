package applyset_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/object"
)

func parse(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	obj := &unstructured.Unstructured{}
	require.NoError(t, yaml.Unmarshal([]byte(text), &obj.Object))
	return obj
}

func shop() applyset.Parent {
	return applyset.Parent{ID: object.ID{Kind: "Secret", Namespace: "shop", Name: "shop"}, Tooling: applyset.Tooling}
}

// The ID is that of kubectl 1.36 for the same parent: the hash of
// "shop.shop.Secret.", and of "shop..Store.example.com" for a custom parent.
func TestSetIDIsThatOfKubectl(t *testing.T) {
	require.Equal(t, "applyset-"+b64sha("shop.shop.Secret.")+"-v1", shop().SetID())
	store := applyset.Parent{ID: object.ID{Group: "example.com", Kind: "Store", Name: "shop"}}
	require.Equal(t, "applyset-"+b64sha("shop..Store.example.com")+"-v1", store.SetID())
}

func TestTwoSetsWriteWithTwoManagers(t *testing.T) {
	other := shop()
	other.ID.Name = "other"
	require.NotEqual(t, shop().Manager("ordapply"), other.Manager("ordapply"))
	require.Regexp(t, `^ordapply:[\w-]{12}$`, shop().Manager("ordapply"))
}

func TestWhatIsWrittenIsRead(t *testing.T) {
	p := shop().WithMembers([]object.ID{
		{Group: "apps", Kind: "Deployment", Namespace: "shop", Name: "web"},
		{Kind: "Service", Namespace: "other", Name: "web"},
		{Group: "rbac.authorization.k8s.io", Kind: "ClusterRole", Name: "web"},
		{Group: "apps", Kind: "Deployment", Namespace: "another", Name: "web"},
	})
	require.Equal(t, map[string]string{
		"applyset.kubernetes.io/tooling":               "ordapply/v1",
		"applyset.kubernetes.io/contains-group-kinds":  "ClusterRole.rbac.authorization.k8s.io,Deployment.apps,Service",
		"applyset.kubernetes.io/additional-namespaces": "another,other",
	}, p.Annotations())
	live := parse(t, `{apiVersion: v1, kind: Secret, metadata: {name: shop, namespace: shop}}`)
	live.SetAnnotations(p.Annotations())
	live.SetLabels(map[string]string{applyset.IDLabel: p.SetID()})
	read, err := applyset.ReadParent(live)
	require.NoError(t, err)
	require.True(t, read.Equal(p))

	narrow := read.ForMembers([]object.ID{{Kind: "Service", Namespace: "shop", Name: "web"}})
	require.Equal(t, "Service", narrow.Annotations()[applyset.GroupKindsAnnotation])
	require.NotContains(t, narrow.Annotations(), applyset.NamespacesAnnotation)
	require.Len(t, read.Kinds, 3, "what it was made of stays as it was")
}

func TestParentThatCannotBeRead(t *testing.T) {
	_, err := applyset.ReadParent(parse(t, `{apiVersion: v1, kind: Secret, metadata: {name: copy, namespace: shop, labels: {applyset.kubernetes.io/id: `+shop().SetID()+`}}}`))
	require.ErrorContains(t, err, "the label was copied from another parent")
	_, err = applyset.ReadParent(parse(t, `{apiVersion: v1, kind: Secret, metadata: {name: a, annotations: {applyset.kubernetes.io/contains-group-kinds: ".apps"}}}`))
	require.ErrorContains(t, err, `".apps" is not a Kind.group`)
}
