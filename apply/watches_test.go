package apply_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
	"github.com/ordapply/ordapply/test/memcluster"
)

// podsIn returns a plan of Pods, counts per namespace, on a cluster where
// each is ready 5 s after its PATCH.
func podsIn(t *testing.T, counts map[string]int) (*ordering.Plan, *apply.Stream, *memcluster.Scripted) {
	t.Helper()
	cluster := &memcluster.Scripted{Scripts: map[object.ID]memcluster.Script{}}
	var manifests []map[string]any
	for namespace, n := range counts {
		for i := range n {
			p := plainPod(fmt.Sprintf("p%d", i))
			p["metadata"].(map[string]any)["namespace"] = namespace
			manifests = append(manifests, p)
			cluster.Scripts[object.ID{Kind: "Pod", Namespace: namespace, Name: fmt.Sprintf("p%d", i)}] = memcluster.Script{ReadyAfter: 5 * time.Second}
		}
	}
	plan, stream := planOf(t, manifests...)
	return plan, stream, cluster
}

func TestRunOpensTheFewestWatches(t *testing.T) {
	const members = "applyset.kubernetes.io/part-of=s"
	five := map[string]int{"a": 3, "b": 1, "c": 3, "d": 1, "e": 1}
	for name, c := range map[string]struct {
		pods    map[string]int
		set     string
		refuses func(namespace string) bool
		want    []string
	}{
		"no set":        {pods: map[string]int{"a": 3, "b": 2}, want: []string{"a/ ", "b/p0 ", "b/p1 "}},
		"a set":         {pods: five, set: "s", want: []string{"/ " + members}},
		"one namespace": {pods: map[string]int{"a": 3}, set: "s", want: []string{"a/ " + members}},
		"two, by name":  {pods: map[string]int{"a": 1, "b": 1}, set: "s", want: []string{"a/p0 ", "b/p0 "}},
		"namespaced rights": {
			pods: five, set: "s", refuses: func(namespace string) bool { return namespace == "" },
			want: []string{"/ " + members, "a/ " + members, "b/p0 ", "c/ " + members, "d/p0 ", "e/p0 "},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				plan, stream, cluster := podsIn(t, c.pods)
				cluster.Refuse = memcluster.ForbidsWatch(c.refuses)
				start := time.Now()
				_, err := apply.Applier{Cluster: cluster, Membership: applyset.Membership{Set: c.set}}.Run(t.Context(), plan, stream.Objects)
				require.NoError(t, err)
				require.Equal(t, 5*time.Second, time.Since(start))
				require.Equal(t, c.want, cluster.Opened())
			})
		})
	}
}

// Watches by label report p0 as deleted when another client removes the set's
// label from it.
func TestRunDistinguishesALostLabelFromADeletion(t *testing.T) {
	for name, c := range map[string]struct {
		deleted bool
		want    string
	}{
		"label":    {want: ""},
		"deletion": {deleted: true, want: "wave 1/1: wait for Pod shop/p0: another client deleted it while the run waited for it"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				plan, stream, cluster := podsIn(t, map[string]int{"shop": 3})
				cluster.Scripts[pod("p0")] = memcluster.Script{Never: true}
				without := memcluster.LiveObject(stream.Objects[pod("p0")], false)
				if !c.deleted {
					cluster.Put(without)
				}
				time.AfterFunc(10*time.Second, func() {
					cluster.Send(kube.WatchEvent{Deleted: true, Objects: []*unstructured.Unstructured{without}})
				})
				time.AfterFunc(20*time.Second, func() { // to watches that still cover it
					cluster.ForgetLabelled()
					cluster.Tell(memcluster.LiveObject(stream.Objects[pod("p0")], true))
				})
				_, err := apply.Applier{Cluster: cluster, WaveTimeout: time.Minute, Membership: applyset.Membership{Set: "s"}}.Run(t.Context(), plan, stream.Objects)
				if c.want != "" {
					require.EqualError(t, err, c.want)
					return
				}
				require.NoError(t, err)
				require.Equal(t, []string{"shop/ "}, cluster.Opened(), "it is watched without the label")
			})
		})
	}
}
