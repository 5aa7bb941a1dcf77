package remove_test

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/apply/remove"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/test/memcluster"
)

// The garbage collector is needed only where dependents must be gone first: the Pods of
// workloads, and custom resources whose controller is deleted in the same run.
func TestOnlyOwnersAreDeletedInForeground(t *testing.T) {
	thing := func(name string) object.ID {
		return object.ID{Group: "example.com", Kind: "Thing", Namespace: "shop", Name: name}
	}
	blocked := func(blocks bool) func(*memcluster.Scripted) {
		return func(c *memcluster.Scripted) {
			c.Make(thing("part"))
			c.Change(thing("part"), func(obj *unstructured.Unstructured) {
				owner := c.Live(thing("whole"))
				obj.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "example.com/v1", Kind: "Thing", Name: "whole", UID: owner.GetUID(), BlockOwnerDeletion: &blocks}})
			})
		}
	}
	definition := object.ID{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition", Name: "things.example.com"}
	for name, c := range map[string]struct {
		id         object.ID
		how        func(*memcluster.Scripted)
		foreground bool
	}{
		"a Deployment":                          {id: object.ID{Group: "apps", Kind: "Deployment", Namespace: "shop", Name: "web"}, foreground: true},
		"a Job":                                 {id: object.ID{Group: "batch", Kind: "Job", Namespace: "shop", Name: "web"}, foreground: true},
		"a CronJob":                             {id: object.ID{Group: "batch", Kind: "CronJob", Namespace: "shop", Name: "web"}, foreground: true},
		"a Service":                             {id: object.ID{Kind: "Service", Namespace: "shop", Name: "web"}},
		"a custom resource":                     {id: thing("whole")},
		"a custom resource with a dependent":    {id: thing("whole"), how: blocked(true), foreground: true},
		"one that its dependent does not block": {id: thing("whole"), how: blocked(false)},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cluster := memcluster.Holding(c.id)
				cluster.Put(things())
				if c.how != nil {
					c.how(cluster)
				}
				order := inWaves(wave(c.id), wave(definition))
				_, err := remove.Remover{Cluster: cluster}.Run(t.Context(), order, cluster.Found())
				require.NoError(t, err)
				require.Equal(t, 1, cluster.Deletes[c.id])
				require.Equal(t, c.foreground, len(cluster.Foreground) == 1, "%v", cluster.Foreground)
			})
		})
	}
}
