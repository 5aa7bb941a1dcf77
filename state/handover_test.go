package state

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
)

func secretGVK() schema.GroupVersionKind {
	return schema.GroupVersionKind{Version: "v1", Kind: "Secret"}
}

// Possible members are handed over with the set: kubectl goes by the label
// alone.
func TestDoubtfulMemberIsHandedOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := newStore()
		done(t, runOf(t, cluster, "ConfigMap shop/a", "ServiceAccount shop/doubtful"))
		live := cluster.at("serviceaccounts/shop/doubtful")
		live.SetManagedFields([]metav1.ManagedFieldsEntry{})
		kind, _ := cluster.Kind(live.GroupVersionKind())
		cluster.add(kind, live)
		handOver := HandOver{Cluster: cluster, Parent: shopSet, Kind: secretGVK(), Namespace: "shop"}
		require.NoError(t, handOver.ToKubectl(t.Context()))
		require.Equal(t, "ConfigMap,ServiceAccount", cluster.promise(t))
		require.Empty(t, cluster.at("secrets/shop/shop").GetAnnotations()[digestAnnotation], "another tool keeps no digest")
	})
}

// A set with a kind whose members are unknown is not handed over.
func TestUnknownKindIsNotHandedOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := withGear(t)
		define(t, cluster, false)
		err := HandOver{Cluster: cluster, Parent: shopSet, Kind: secretGVK(), Namespace: "shop"}.ToKubectl(t.Context())
		require.ErrorContains(t, err, "then hand it over: kubectl would reject the set")
		require.Equal(t, "ConfigMap,Gear.example.com", cluster.promise(t))
	})
}

// The annotation with the home of a set exists, is empty and belongs to
// another manager: no run sets it, and no run waits for that forever.
func TestHomeThatCannotBeClaimed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := newStore()
		id := object.ID{Group: "example.com", Kind: "Store", Name: "shop"}
		gvk := schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Store"}
		kind, _ := cluster.Kind(gvk)
		set := &Set{cluster: cluster, kind: kind, version: "v1", Parent: applyset.Parent{ID: id}}
		parent := &unstructured.Unstructured{}
		parent.SetGroupVersionKind(gvk)
		parent.SetName(id.Name)
		parent.SetAnnotations(map[string]string{recordsNamespaceAnnotation: ""})
		cluster.add(kind, parent)
		cluster.refuse = func(verb string, kind kube.Kind, _, name string) error {
			if verb == "apply" {
				return apierrors.NewConflict(kind.Resource.GroupResource(), name, nil)
			}
			return nil
		}
		_, err := set.claimRecordsNamespace(t.Context(), "shop")
		require.ErrorContains(t, err, "its annotation ordapply.dev/home is empty and owned by another field manager")
		require.ErrorContains(t, err, "kubectl annotate stores.example.com shop ordapply.dev/home=shop --overwrite")
	})
}
