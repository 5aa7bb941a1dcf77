package state

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/state/set"
	"github.com/ordapply/ordapply/test/memcluster"
)

func secretGVK() schema.GroupVersionKind {
	return schema.GroupVersionKind{Version: "v1", Kind: "Secret"}
}

// Possible members are handed over with the set: kubectl goes by the label
// alone.
func TestDoubtfulMemberIsHandedOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := memcluster.New()
		done(t, runOf(t, cluster, "ConfigMap shop/a", "ServiceAccount shop/doubtful"))
		live := cluster.At("serviceaccounts/shop/doubtful")
		live.SetManagedFields([]metav1.ManagedFieldsEntry{})
		kind, _ := cluster.Kind(live.GroupVersionKind())
		cluster.Add(kind, live)
		handOver := HandOver{SetRef{Cluster: cluster, Parent: shopSet, Kind: secretGVK(), Namespace: "shop"}}
		require.NoError(t, handOver.ToKubectl(t.Context()))
		require.Equal(t, "ConfigMap,ServiceAccount", promise(t, cluster))
		require.Empty(t, cluster.At("secrets/shop/shop").GetAnnotations()[set.DigestAnnotation], "another tool keeps no digest")
	})
}

// A set with a kind whose members are unknown is not handed over.
func TestUnknownKindIsNotHandedOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := withGear(t)
		define(t, cluster, false)
		err := HandOver{SetRef{Cluster: cluster, Parent: shopSet, Kind: secretGVK(), Namespace: "shop"}}.ToKubectl(t.Context())
		require.ErrorContains(t, err, "then hand it over: kubectl would reject the set")
		require.Equal(t, "ConfigMap,Gear.example.com", promise(t, cluster))
	})
}
