package remove_test

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/apply/remove"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/test/memcluster"
)

func TestRemovalOpensTheFewestWatches(t *testing.T) {
	const members = "applyset.kubernetes.io/part-of=s"
	for name, c := range map[string]struct {
		unwatchable func(namespace string) bool
		want        []string
	}{
		"everywhere":        {want: []string{"/ " + members}},
		"namespaced rights": {func(namespace string) bool { return namespace == "" }, []string{"/ " + members, "a/ " + members, "b/p0 "}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cluster, ids := membersIn(map[string]int{"a": 3, "b": 1})
				cluster.Refuse = memcluster.ForbidsWatch(c.unwatchable)
				_, err := remove.Remover{Cluster: cluster, Set: "s"}.Run(t.Context(), inWaves(wave(ids...)), cluster.Found())
				require.NoError(t, err)
				require.Empty(t, cluster.Objects)
				require.Equal(t, c.want, cluster.Opened())
			})
		})
	}
}

// membersIn returns Pods of a set, each gone 5 s after its DELETE.
func membersIn(counts map[string]int) (*memcluster.Scripted, []object.ID) {
	cluster := memcluster.Holding()
	var ids []object.ID
	for namespace, n := range counts {
		for i := range n {
			id := object.ID{Kind: "Pod", Namespace: namespace, Name: fmt.Sprintf("p%d", i)}
			ids = append(ids, id)
			cluster.Make(id)
			cluster.Change(id, func(obj *unstructured.Unstructured) {
				obj.SetLabels(map[string]string{"applyset.kubernetes.io/part-of": "s"})
			})
			cluster.Ends[id] = memcluster.End{GoneAfter: 5 * time.Second}
		}
	}
	return cluster, ids
}

// A member that loses the label while it is terminating is waited for.
func TestRemovalDistinguishesALostLabelFromADeletion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster, ids := membersIn(map[string]int{"shop": 3})
		cluster.Ends[pod("p0")] = memcluster.End{GoneAfter: 20 * time.Second}
		time.AfterFunc(10*time.Second, func() {
			cluster.Mu.Lock()
			cluster.Change(pod("p0"), func(obj *unstructured.Unstructured) { obj.SetLabels(nil) })
			lost := cluster.Live(pod("p0")).DeepCopy()
			cluster.Mu.Unlock()
			cluster.Send(kube.WatchEvent{Deleted: true, Objects: []*unstructured.Unstructured{lost}})
			cluster.ForgetLabelled()
		})
		start := time.Now()
		_, err := remove.Remover{Cluster: cluster, Set: "s", WaveTimeout: time.Minute}.Run(t.Context(), inWaves(wave(ids...)), cluster.Found())
		require.NoError(t, err)
		require.Equal(t, 20*time.Second, time.Since(start))
		require.Equal(t, []string{"shop/ "}, cluster.Opened(), "it is watched without the label")
	})
}

// An API server that becomes unreachable is reported, and once more when it is back.
func TestRemovalReportsAnUnreachableServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := memcluster.Holding(pod("a"))
		cluster.Ends[pod("a")] = memcluster.End{GoneAfter: 40 * time.Second}
		time.AfterFunc(10*time.Second, func() { cluster.Report(kube.WatchEvent{Disconnected: syscall.ECONNREFUSED}) })
		time.AfterFunc(30*time.Second, func() { cluster.Report(kube.WatchEvent{Reconnected: true}) })
		var reported []string
		_, err := remove.Remover{Cluster: cluster, Events: func(e event.Event) {
			if strings.Contains(e.Detail, "API server") {
				reported = append(reported, e.Detail)
			}
		}}.Run(t.Context(), inWaves(wave(pod("a"))), cluster.Found())
		require.NoError(t, err)
		require.Len(t, reported, 2)
		require.Contains(t, reported[0], "the API server has been unreachable since 00:00:10: ")
		require.Contains(t, reported[1], "the API server is reachable again")
	})
}

// The event of an earlier object of the same name says nothing about the one that is deleted.
func TestRemovalIgnoresEventsOfAnotherObject(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := memcluster.Holding(pod("a"))
		cluster.Ends[pod("a")] = memcluster.End{GoneAfter: 20 * time.Second}
		earlier := cluster.Live(pod("a")).DeepCopy()
		earlier.SetUID("another object")
		time.AfterFunc(10*time.Second, func() {
			cluster.Send(kube.WatchEvent{Deleted: true, Objects: []*unstructured.Unstructured{earlier}})
		})
		start := time.Now()
		_, err := remove.Remover{Cluster: cluster}.Run(t.Context(), inWaves(wave(pod("a"))), cluster.Found())
		require.NoError(t, err)
		require.Equal(t, 20*time.Second, time.Since(start))
	})
}
