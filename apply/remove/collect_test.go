package remove_test

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/apply/remove"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/test/memcluster"
)

// The garbage collector learns of a new kind after up to half a minute. Until then the run deletes
// the dependents of its objects, before these, so that it needs no collector.
func TestDependentsOfANewKindNeedNoCollector(t *testing.T) {
	thing := func(name string) object.ID {
		return object.ID{Group: "example.com", Kind: "Thing", Namespace: "shop", Name: name}
	}
	whole, part, deep := thing("whole"), thing("part"), thing("deep")
	elsewhere := object.ID{Group: "example.com", Kind: "Thing", Namespace: "other", Name: "part"}
	definition := object.ID{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition", Name: "things.example.com"}
	owned := func(c *memcluster.Scripted, id object.ID, by ...object.ID) {
		yes := true
		c.Change(id, func(obj *unstructured.Unstructured) {
			for _, owner := range by {
				obj.SetOwnerReferences(append(obj.GetOwnerReferences(), metav1.OwnerReference{APIVersion: "example.com/v1", Kind: "Thing", Name: owner.Name, UID: c.Live(owner).GetUID(), BlockOwnerDeletion: &yes}))
			}
		})
	}
	for name, c := range map[string]struct {
		age  time.Duration // of the definition
		how  func(*memcluster.Scripted)
		took time.Duration // -1: it times out
		kept []object.ID   // that the run does not delete
	}{
		"new":                          {age: time.Second},
		"old":                          {age: time.Hour, took: -1, kept: []object.ID{part, deep}},
		"a dependent with a finalizer": {age: time.Second, how: func(c *memcluster.Scripted) { c.Ends[part] = memcluster.End{GoneAfter: 5 * time.Second} }, took: 5500 * time.Millisecond},
		"a failing request": {age: time.Second, how: func(c *memcluster.Scripted) {
			c.Ends[part] = memcluster.End{Errs: []error{apierrors.NewInternalError(errors.New("no leader"))}}
		}, took: 500 * time.Millisecond},
		"a forbidden request": {age: time.Second, how: func(c *memcluster.Scripted) {
			c.Ends[part] = memcluster.End{Errs: slices.Repeat([]error{apierrors.NewForbidden(schema.GroupResource{Resource: "things"}, "part", nil)}, 1000)}
		}, took: -1},
		"a protected dependent": {age: time.Second, how: func(c *memcluster.Scripted) {
			c.Change(part, func(obj *unstructured.Unstructured) {
				obj.SetAnnotations(map[string]string{"ordapply.dev/lifecycle": "keep"})
			})
		}, took: -1, kept: []object.ID{part, deep}},
		"a dependent in another namespace": {age: time.Second, how: func(c *memcluster.Scripted) {
			c.Make(elsewhere)
			owned(c, elsewhere, whole)
		}, took: -1, kept: []object.ID{elsewhere}},
		"a dependent of another, too": {age: time.Second, how: func(c *memcluster.Scripted) {
			c.Make(thing("other"))
			owned(c, part, thing("other"))
		}, took: -1, kept: []object.ID{part, deep, thing("other")}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cluster := memcluster.Holding(whole, part, deep)
				cluster.Uncollected = true
				crd := things()
				crd.SetCreationTimestamp(metav1.NewTime(time.Now().Add(-c.age)))
				cluster.Put(crd)
				owned(cluster, part, whole)
				owned(cluster, deep, part)
				if c.how != nil {
					c.how(cluster)
				}
				found := cluster.Found()
				for _, id := range []object.ID{part, deep, elsewhere, thing("other")} {
					delete(found, id) // they are not in the stream
				}
				summary, err := remove.Remover{Cluster: cluster, WaveTimeout: 40 * time.Second, NoDiagnosis: true}.Run(t.Context(), inWaves(wave(whole), wave(definition)), found)
				for _, id := range c.kept {
					require.Zero(t, cluster.Deletes[id], id)
				}
				require.Equal(t, []object.ID{whole}, cluster.Foreground, "nothing is made for it while its dependents are deleted")
				if c.took < 0 {
					require.Error(t, err)
					require.Equal(t, event.TimedOut, summary.Results[0].State)
					require.Equal(t, 1, cluster.Deletes[whole], "it is left to the collector")
					return
				}
				require.NoError(t, err)
				require.LessOrEqual(t, summary.Took, c.took)
				at := func(id object.ID) int {
					return slices.Index(cluster.Happened(), memcluster.Entry{ID: id, What: "gone"})
				}
				require.Greater(t, at(whole), at(part))
				require.Greater(t, at(whole), at(deep))
				require.Greater(t, at(definition), at(whole))
				require.NotContains(t, []int{at(part), at(deep)}, -1)
			})
		})
	}
}

// A workload that a custom resource of a new kind blocks is gone only with its Pods, as any other
// workload: only the collector knows these, so that the run may not let go of the workload.
func TestAWorkloadIsLeftToTheCollector(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		whole := object.ID{Group: "example.com", Kind: "Thing", Namespace: "shop", Name: "whole"}
		part := object.ID{Group: "example.com", Kind: "Thing", Namespace: "shop", Name: "part"}
		workload := object.ID{Group: "apps", Kind: "Deployment", Namespace: "shop", Name: "operator"}
		definition := object.ID{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition", Name: "things.example.com"}
		cluster := memcluster.Holding(whole, part, workload)
		cluster.Uncollected = true
		crd := things()
		crd.SetCreationTimestamp(metav1.NewTime(time.Now().Add(-time.Second)))
		cluster.Put(crd)
		yes := true
		cluster.Change(part, func(obj *unstructured.Unstructured) {
			obj.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "Deployment", Name: "operator", UID: cluster.Live(workload).GetUID(), BlockOwnerDeletion: &yes}})
		})
		found := cluster.Found()
		delete(found, part)
		_, err := remove.Remover{Cluster: cluster, WaveTimeout: 40 * time.Second, NoDiagnosis: true}.Run(t.Context(), inWaves(wave(whole), wave(workload), wave(definition)), found)
		require.Equal(t, 1, cluster.Deletes[workload], "a second DELETE, in background, lets go of it before its Pods are gone")
		require.Error(t, err)
	})
}
