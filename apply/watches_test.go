package apply_test

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// podsIn returns a plan of Pods, counts per namespace, on a cluster where
// each is ready 5 s after its PATCH.
func podsIn(t *testing.T, counts map[string]int) (*ordering.Plan, *apply.Stream, *scripted) {
	t.Helper()
	cluster := &scripted{scripts: map[object.ID]script{}}
	var manifests []map[string]any
	for namespace, n := range counts {
		for i := range n {
			p := plainPod(fmt.Sprintf("p%d", i))
			p["metadata"].(map[string]any)["namespace"] = namespace
			manifests = append(manifests, p)
			cluster.scripts[object.ID{Kind: "Pod", Namespace: namespace, Name: fmt.Sprintf("p%d", i)}] = script{readyAfter: 5 * time.Second}
		}
	}
	plan, stream := planOf(t, manifests...)
	return plan, stream, cluster
}

// opened returns the watches that were started, as text, sorted.
func (c *scripted) opened() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []string
	for _, w := range c.watches {
		out = append(out, fmt.Sprintf("%s/%s %s", w.namespace, w.name, w.labels))
	}
	slices.Sort(out)
	return out
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
				cluster.unwatchable = c.refuses
				start := time.Now()
				_, err := apply.Applier{Cluster: cluster, Membership: apply.Membership{Set: c.set}}.Run(t.Context(), plan, stream.Objects)
				require.NoError(t, err)
				require.Equal(t, 5*time.Second, time.Since(start))
				require.Equal(t, c.want, cluster.opened())
			})
		})
	}
}

// Watches by label report p0 as deleted when another client removes the set's
// label from it.
func TestRunTellsALostLabelFromADeletion(t *testing.T) {
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
				cluster.scripts[pod("p0")] = script{never: true}
				without := liveObject(stream.Objects[pod("p0")], false)
				if !c.deleted {
					cluster.put(pod("p0"), without)
				}
				time.AfterFunc(10*time.Second, func() {
					cluster.send(kube.WatchEvent{Deleted: true, Objects: []*unstructured.Unstructured{without}})
				})
				time.AfterFunc(20*time.Second, func() { // to watches that still cover it
					cluster.forgetLabelled()
					cluster.tell(liveObject(stream.Objects[pod("p0")], true))
				})
				_, err := apply.Applier{Cluster: cluster, WaveTimeout: time.Minute, Membership: apply.Membership{Set: "s"}}.Run(t.Context(), plan, stream.Objects)
				if c.want != "" {
					require.EqualError(t, err, c.want)
					return
				}
				require.NoError(t, err)
				require.Equal(t, []string{"shop/ "}, cluster.opened(), "it is watched without the label")
			})
		})
	}
}

// forgetLabelled removes the watches by label.
func (c *scripted) forgetLabelled() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.watches = slices.DeleteFunc(c.watches, func(w watching) bool { return w.labels != "" })
}

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
				cluster.unwatchable = c.unwatchable
				_, err := apply.Remover{Cluster: cluster, Set: "s"}.Run(t.Context(), inWaves(wave(ids...)), cluster.found())
				require.NoError(t, err)
				require.Empty(t, cluster.live)
				require.Equal(t, c.want, cluster.opened())
			})
		})
	}
}

// membersIn returns Pods of a set, each gone 5 s after its DELETE.
func membersIn(counts map[string]int) (*mortal, []object.ID) {
	cluster := newMortal()
	var ids []object.ID
	for namespace, n := range counts {
		for i := range n {
			id := object.ID{Kind: "Pod", Namespace: namespace, Name: fmt.Sprintf("p%d", i)}
			ids = append(ids, id)
			cluster.create(id)
			cluster.change(id, func(obj *unstructured.Unstructured) {
				obj.SetLabels(map[string]string{"applyset.kubernetes.io/part-of": "s"})
			})
			cluster.ends[id] = end{goneAfter: 5 * time.Second}
		}
	}
	return cluster, ids
}

// A member that loses the label while it is terminating is waited for.
func TestRemovalTellsALostLabelFromADeletion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster, ids := membersIn(map[string]int{"shop": 3})
		cluster.ends[pod("p0")] = end{goneAfter: 20 * time.Second}
		time.AfterFunc(10*time.Second, func() {
			cluster.mu.Lock()
			cluster.change(pod("p0"), func(obj *unstructured.Unstructured) { obj.SetLabels(nil) })
			lost := cluster.live[pod("p0")].DeepCopy()
			cluster.mu.Unlock()
			cluster.send(kube.WatchEvent{Deleted: true, Objects: []*unstructured.Unstructured{lost}})
			cluster.forgetLabelled()
		})
		start := time.Now()
		_, err := apply.Remover{Cluster: cluster, Set: "s", WaveTimeout: time.Minute}.Run(t.Context(), inWaves(wave(ids...)), cluster.found())
		require.NoError(t, err)
		require.Equal(t, 20*time.Second, time.Since(start))
		require.Equal(t, []string{"shop/ "}, cluster.opened(), "it is watched without the label")
	})
}
