package state

import (
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/test/memcluster"
)

// The first run on a set looks for its members once, before it writes: what it did not find then
// is not to be pruned later. A set that lost its records has members.
func TestTheFirstRunListsMembersOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := memcluster.New()
		kind, _ := cluster.Kind(schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"})
		other := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "other", "namespace": "shop"}}}
		cluster.Add(kind, other)
		var mu sync.Mutex // workers send at once
		written, listed := false, 0
		cluster.Refuse = func(verb string, kind kube.Kind, _, _ string) error {
			mu.Lock()
			defer mu.Unlock()
			if kind.Resource.Resource == "configmaps" {
				written = written || verb == "apply"
				if written && verb == "list" {
					listed++
				}
			}
			return nil
		}
		done(t, runOf(t, cluster, "ConfigMap shop/a", "ConfigMap shop/b"))
		require.True(t, written)
		require.Zero(t, listed, "lists after the first write")
		done(t, runOf(t, cluster, "ConfigMap shop/a"))
		require.Equal(t, []string{"configmaps/b"}, deletions(cluster), "the second run prunes")

		for key := range cluster.Objects { // the records
			if strings.HasPrefix(key, "secrets/") || strings.HasPrefix(key, "leases") {
				cluster.Drop(key)
			}
		}
		written, listed = false, 0
		done(t, runOf(t, cluster, "ConfigMap shop/c"))
		require.NotZero(t, listed, "a first run that finds members looks at them again")
	})
}
