package kube

import (
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Versions are listed newest first, by Kubernetes' version priority: v1 is
// newer than v1beta1, and v11 than v2.
func TestNewestVersion(t *testing.T) {
	k := &Kubernetes{served: &served{kinds: map[schema.GroupVersionKind]Kind{}}}
	for _, version := range []string{"v1beta1", "v11", "v1", "v2", "v12alpha1"} {
		k.addKinds(&metav1.APIResourceList{GroupVersion: "example.com/" + version, APIResources: []metav1.APIResource{
			{Name: "widgets", Kind: "Widget", Namespaced: true, Verbs: []string{"list", "delete"}},
		}})
	}
	widget := schema.GroupKind{Group: "example.com", Kind: "Widget"}
	require.Equal(t, []string{"v11", "v2", "v1", "v1beta1", "v12alpha1"}, k.Versions(widget))
	require.Equal(t, []schema.GroupVersionKind{widget.WithVersion("v11")}, k.NamespacedKinds())
}
