package remove_test

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/apply/remove"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/test/memcluster"
)

// An object that the garbage collector would delete counts as deleted: the owner of an object
// that stays is kept, unless another owner of it stays as well.
func TestOwnersOfWhatStaysAreKept(t *testing.T) {
	owner, between, stays, other := pod("owner"), pod("between"), secret("stays"), pod("other")
	owned := func(c *memcluster.Scripted, id object.ID, by ...object.ID) {
		c.Change(id, func(obj *unstructured.Unstructured) {
			var refs []metav1.OwnerReference
			for _, o := range by {
				uid := types.UID("gone")
				if live := c.Live(o); live != nil {
					uid = live.GetUID()
				}
				refs = append(refs, metav1.OwnerReference{APIVersion: "v1", Kind: o.Kind, Name: o.Name, UID: uid})
			}
			obj.SetOwnerReferences(refs)
		})
	}
	for name, c := range map[string]struct {
		owners func(*memcluster.Scripted)
		kept   []string
	}{
		"its only owner":                 {func(c *memcluster.Scripted) { owned(c, stays, owner) }, []string{"owner"}},
		"an owner, and one that is gone": {func(c *memcluster.Scripted) { owned(c, stays, owner, pod("gone")) }, []string{"owner"}},
		"an owner, and one that stays":   {func(c *memcluster.Scripted) { owned(c, stays, owner, other) }, nil},
		"a chain of deleted owners":      {func(c *memcluster.Scripted) { owned(c, stays, between); owned(c, between, owner) }, []string{"owner", "between"}},
		"a chain through another's object": {func(c *memcluster.Scripted) {
			owned(c, stays, other)
			owned(c, other, owner)
		}, []string{"owner"}},
		"no owner": {func(*memcluster.Scripted) {}, nil},
		"it is being deleted anyway": {func(c *memcluster.Scripted) {
			owned(c, stays, owner)
			c.Change(stays, func(obj *unstructured.Unstructured) { now := metav1.Now(); obj.SetDeletionTimestamp(&now) })
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cluster := memcluster.Holding(owner, between)
				cluster.Make(stays)
				cluster.Make(other)
				c.owners(cluster)
				order, found := inWaves(wave(between), wave(owner)), map[object.ID]*unstructured.Unstructured{}
				for _, id := range []object.ID{owner, between} {
					found[id] = cluster.Live(id)
				}
				remover := remove.Remover{Cluster: cluster, Stays: []*unstructured.Unstructured{cluster.Live(stays)}}
				previewed := remover.Kept(t.Context(), order, found)
				summary, err := remover.Run(t.Context(), order, found)
				require.NoError(t, err)
				require.Len(t, previewed, len(c.kept), "%v", previewed)
				for _, r := range summary.Results {
					_, planned := previewed[r.ID]
					require.Equal(t, r.State == event.Kept, planned, "the plan and the run agree about %s", r.ID)
				}
				for _, name := range c.kept {
					require.Equal(t, event.Kept, states(summary)[name], name)
				}
			})
		})
	}
}

// Protected objects stay, also from the garbage collector.
func TestOwnerOfWhatIsProtectedIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := memcluster.Holding(pod("owner"), secret("precious"))
		cluster.Change(secret("precious"), func(obj *unstructured.Unstructured) {
			obj.SetAnnotations(map[string]string{"argocd.argoproj.io/sync-options": "Delete=false"})
			ownedBy("Pod", "owner", cluster.Live(pod("owner")).GetUID())(obj)
		})
		summary, err := remove.Remover{Cluster: cluster}.Run(t.Context(), inWaves(wave(pod("owner"), secret("precious"))), cluster.Found())
		require.NoError(t, err)
		require.Equal(t, map[string]event.State{"owner": event.Kept, "precious": event.Kept}, states(summary))
	})
}
