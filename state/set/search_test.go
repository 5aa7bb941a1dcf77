package set

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/test/memcluster"
)

// behindCluster is a cluster whose API server has a cache of an earlier state.
type behindCluster struct {
	*memcluster.Store
	cache []*unstructured.Unstructured

	mu    sync.Mutex
	asked []string // the NotOlderThan of each LIST
}

func (c *behindCluster) List(ctx context.Context, kind kube.Kind, namespace string, q kube.Query) ([]*unstructured.Unstructured, error) {
	c.mu.Lock()
	c.asked = append(c.asked, q.NotOlderThan)
	c.mu.Unlock()
	if q.NotOlderThan == kube.AnyState {
		return c.cache, nil
	}
	return c.Store.List(ctx, kind, namespace, q)
}

// Lost members are looked for in the caches of the API server. What these show is looked for
// again in the present state: it may have been deleted just now.
func TestLostMembersAreNotThoseOfAnEarlierState(t *testing.T) {
	parent := applyset.Parent{ID: object.ID{Kind: "Secret", Namespace: "shop", Name: "shop"}}
	labelled := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{
		"name": "web", "namespace": "far", "labels": map[string]any{applyset.PartOfLabel: parent.SetID()},
	}}}
	other := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "other", "namespace": "far"}}}
	now := []string{""}
	for name, c := range map[string]struct {
		cache, live []*unstructured.Unstructured
		asked       []string
		empty       bool
	}{
		"none":                {live: []*unstructured.Unstructured{other}, empty: true},
		"one that is deleted": {cache: []*unstructured.Unstructured{labelled}, live: []*unstructured.Unstructured{other}, asked: now, empty: true},
		"one":                 {cache: []*unstructured.Unstructured{labelled}, live: []*unstructured.Unstructured{labelled}, asked: now},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := &behindCluster{Store: memcluster.New(), cache: c.cache}
			for _, obj := range c.live {
				cluster.Objects[memcluster.KeyOf(kube.Meta(obj).ID)] = obj
			}
			set := &Set{Parent: parent, cluster: cluster}
			finish := set.StartFindLost(t.Context())
			require.False(t, set.WasEmpty(nil), "before it is finished the set is as it was")
			finish()
			require.Equal(t, append([]string{kube.AnyState}, c.asked...), cluster.asked)
			require.Equal(t, c.empty, set.WasEmpty([]object.ID{kube.Meta(other).ID}))
		})
	}
}
