package apply_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
	"github.com/ordapply/ordapply/test/memcluster"
)

// needing returns a Pod that is in no layer and depends on the entries of its
// annotation.
func needing(name, entries string) map[string]any {
	p := plainPod(name)
	p["metadata"].(map[string]any)["annotations"] = map[string]any{"ordapply.dev/depends-on": entries}
	return p
}

func livePod(name string, ready bool) *unstructured.Unstructured {
	return memcluster.LiveObject(&unstructured.Unstructured{Object: plainPod(name)}, ready)
}

// A run waits for dependencies outside the stream: with gate ready until
// they are ready, with gate applied until they exist.
func TestRunWaitsForAnExternalDependency(t *testing.T) {
	for gate, want := range map[string]time.Duration{"": 90 * time.Second, "?gate=ready": 90 * time.Second, "?gate=applied": time.Minute} {
		t.Run("gate "+gate, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				plan, stream := planOf(t, needing("web", "external:/namespaces/shop/Pod/db"+gate), plainPod("other"))
				cluster := &memcluster.Scripted{Outside: map[object.ID]*unstructured.Unstructured{pod("db"): nil}}
				time.AfterFunc(time.Minute, func() { cluster.Tell(livePod("db", false)) })
				time.AfterFunc(90*time.Second, func() { cluster.Tell(livePod("db", true)) })
				start := time.Now()
				_, err := apply.Applier{Cluster: cluster}.Run(t.Context(), plan, stream.Objects)
				require.NoError(t, err)
				require.Equal(t, want, time.Since(start))
				require.Equal(t, memcluster.Entry{ID: pod("other"), What: "sent"}, cluster.Happened()[0], "who does not need it does not wait")
			})
		})
	}
}

// A neutral status of an object outside the stream gets a grace from the
// object's creation.
func TestRunWaitsForTheNeutralStatusOfAnExternalDependency(t *testing.T) {
	for age, want := range map[time.Duration]time.Duration{time.Hour: 0, 5 * time.Second: 10 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			plan, stream := planOf(t, needing("web", "external:rockets.example/namespaces/shop/Rocket/rocket"))
			live := &unstructured.Unstructured{Object: rocket()}
			live.SetCreationTimestamp(metav1.NewTime(time.Now().Add(-age)))
			live.Object["status"] = map[string]any{"observedGeneration": int64(1)}
			summary, err := apply.Applier{Cluster: &memcluster.Scripted{Outside: map[object.ID]*unstructured.Unstructured{rocketID(): live}}}.Run(t.Context(), plan, stream.Objects)
			require.NoError(t, err)
			require.Equal(t, want, summary.Took)
		})
	}
}

// A timeout of the resource or of its kind also bounds the wait for
// dependencies outside the stream and for its kind, whether shorter or
// longer than the default.
func TestItsOwnTimeBoundsEveryWait(t *testing.T) {
	external := func(timeout string) map[string]any {
		return annotated(needing("web", "external:/namespaces/shop/Pod/db"), "ordapply.dev/timeout", timeout)
	}
	unserved := func(timeout string) map[string]any {
		p := annotated(plainPod("web"), "ordapply.dev/timeout", timeout)
		p["apiVersion"], p["kind"] = "rockets.example/v1", "Rocket"
		return p
	}
	rocket := object.ID{Group: "rockets.example", Kind: "Rocket", Namespace: "shop", Name: "web"}
	for name, c := range map[string]struct {
		web   map[string]any
		after time.Duration
		id    object.ID
	}{
		"outside, shorter than the wave": {external("10s"), 10 * time.Second, pod("web")},
		"outside, longer than the wave":  {external("10m"), 10 * time.Minute, pod("web")},
		"kind, shorter than its wait":    {unserved("10s"), 10 * time.Second, rocket},
		"kind, longer than its wait":     {unserved("3m"), 3 * time.Minute, rocket},
	} {
		for _, schedule := range []apply.Schedule{apply.Waves, apply.Graph} {
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					plan, stream := planOf(t, c.web)
					cluster := &memcluster.Scripted{Serves: func(kind string) bool { return kind == "Pod" }, Outside: map[object.ID]*unstructured.Unstructured{pod("db"): nil}}
					start := time.Now()
					_, err := apply.Applier{Cluster: cluster, WaveTimeout: time.Minute, Schedule: schedule}.Run(t.Context(), plan, stream.Objects)
					require.True(t, requireTimeout(t, err, c.id, c.after, "resource").NotApplied)
					require.Equal(t, c.after, time.Since(start))
				})
			})
		}
	}
}

// A failed wave waits for answers, so that all errors are reported, but not
// for anything that would let it send more.
func TestAFailedWaveWaitsForNoExternalDependency(t *testing.T) {
	promised := func(name string) map[string]any {
		p := plainPod(name)
		p["apiVersion"], p["kind"] = "rockets.example/v1", "Rocket"
		return p
	}
	synctest.Test(t, func(t *testing.T) {
		plan, stream := planOf(t, plainPod("bad"), plainPod("slow"), plainPod("worse"), promised("rocket"),
			needing("web", "external:/namespaces/shop/Pod/db"), needing("behind", "/namespaces/shop/Pod/web?gate=applied"))
		no, busy := apierrors.NewBadRequest("no"), apierrors.NewServiceUnavailable("busy")
		cluster := &memcluster.Scripted{
			Serves:  func(kind string) bool { return kind == "Pod" },
			Outside: map[object.ID]*unstructured.Unstructured{pod("db"): nil},
			Scripts: map[object.ID]memcluster.Script{pod("bad"): {Errs: []error{no}}, pod("slow"): {Latency: 4 * time.Second}, pod("worse"): {Errs: []error{busy, busy, no}}},
		}
		start := time.Now()
		summary, err := apply.Applier{Cluster: cluster}.Run(t.Context(), plan, stream.Objects)
		require.Equal(t, event.CodeInvalid, failureOf(t, err, pod("bad")).Code())
		require.Equal(t, event.CodeInvalid, failureOf(t, err, pod("worse")).Code())
		rocket := object.ID{Group: "rockets.example", Kind: "Rocket", Namespace: "shop", Name: "rocket"}
		require.Equal(t, event.CodeNotServed, failureOf(t, err, rocket).Code(), "no faults are left for the next run to name")
		require.Equal(t, map[string]event.State{
			"bad": event.Failed, "worse": event.Failed, "slow": event.Ready,
			"web": event.NotStarted, "behind": event.NotStarted, "rocket": event.Failed,
		}, states(summary))
		require.Equal(t, 4*time.Second, time.Since(start))
	})
}

func TestRunFindsAnExistingExternalDependency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		plan, stream := planOf(t, needing("web", "external:/namespaces/shop/Pod/db"), needing("api", "external:/namespaces/shop/Pod/db?gate=applied"))
		cluster := &memcluster.Scripted{Outside: map[object.ID]*unstructured.Unstructured{pod("db"): livePod("db", true)}}
		start := time.Now()
		_, err := apply.Applier{Cluster: cluster}.Run(t.Context(), plan, stream.Objects)
		require.NoError(t, err)
		require.Zero(t, time.Since(start))
		require.Len(t, cluster.Opened(), 1, "one watch for both dependents")
	})
}

// The error says what is missing, and why.
func TestRunTimesOutOnAnExternalDependency(t *testing.T) {
	deleting := livePod("db", true)
	deleting.SetFinalizers([]string{"example.com/hold"})
	for name, c := range map[string]struct {
		live *unstructured.Unstructured
		says string
	}{
		"absent":    {nil, "it does not exist"},
		"not ready": {livePod("db", false), "Pod is in the Pending phase"},
		"going":     {deleting, "it is being deleted (blocked by finalizers example.com/hold)"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				now := time.Now()
				if name == "going" {
					setDeleted(c.live, now)
				}
				plan, stream := planOf(t, needing("web", "external:/namespaces/shop/Pod/db"), dependent("behind", "web"))
				cluster := &memcluster.Scripted{Outside: map[object.ID]*unstructured.Unstructured{pod("db"): c.live}}
				summary, err := apply.Applier{Cluster: cluster, WaveTimeout: time.Minute}.Run(t.Context(), plan, stream.Objects)
				require.Contains(t, requireTimeout(t, err, pod("web"), time.Minute, "wave").Last, c.says)
				require.Equal(t, map[string]event.State{"web": event.TimedOut, "behind": event.Skipped}, states(summary))
				require.Equal(t, time.Minute, time.Since(now))
			})
		})
	}
}

// The wait for an outside object of a kind that is not served ends with the
// kind timeout; in graph mode the wait for a missing object ends with the
// wave timeout.
func TestRunBoundsTheWaitForExternalDependencies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		plan, stream := planOf(t, needing("web", "external:example.com/namespaces/shop/Rocket/moon"))
		cluster := &memcluster.Scripted{Serves: func(kind string) bool { return kind != "Rocket" }}
		_, err := apply.Applier{Cluster: cluster}.Run(t.Context(), plan, stream.Objects)
		require.EqualError(t, err, "wave 1/1: apply Pod shop/web: it needs an object of kind Rocket.example.com, which is not in this stream, and the cluster still does not serve that kind after 30s (--kind-timeout): install its CustomResourceDefinition or operator, or correct the entry in the annotation ordapply.dev/depends-on")
	})
	synctest.Test(t, func(t *testing.T) {
		plan, stream := planOf(t, needing("web", "external:/namespaces/shop/Pod/db"))
		cluster := &memcluster.Scripted{Outside: map[object.ID]*unstructured.Unstructured{pod("db"): nil}}
		_, err := apply.Applier{Cluster: cluster, Schedule: apply.Graph, WaveTimeout: time.Minute}.Run(t.Context(), plan, stream.Objects)
		requireTimeout(t, err, pod("web"), time.Minute, "wave")
	})
}

// The namespace of an object is decided when its kind is served, if it was not known before.
func TestRunPlacesObjectsOfLateKinds(t *testing.T) {
	for namespace, state := range map[string]event.State{"shop": event.Ready, "": event.Failed} {
		synctest.Test(t, func(t *testing.T) {
			kind := func(name string) map[string]any {
				return map[string]any{"apiVersion": "example.com/v1", "kind": name, "metadata": map[string]any{"name": "one"}}
			}
			stream, err := apply.NewStream([]apply.Input{{Object: &unstructured.Unstructured{Object: kind("Rocket")}}, {Object: &unstructured.Unstructured{Object: kind("RocketWebhookConfiguration")}}}, apply.Scope{
				Namespace: "shop", Kind: func(schema.GroupVersionKind) (kube.Kind, bool) { return kube.Kind{}, false },
			})
			require.NoError(t, err)
			plan, err := stream.Plan(ordering.Options{})
			require.NoError(t, err)
			start := time.Now()
			cluster := &memcluster.Scripted{Serves: func(string) bool { return time.Since(start) > 10*time.Second }}
			summary, err := apply.Applier{Cluster: cluster, Namespace: namespace}.Run(t.Context(), plan, stream.Objects)
			require.Equal(t, state == event.Ready, err == nil, "%v", err)
			rocket, clusterScoped := object.ID{Group: "example.com", Kind: "Rocket", Namespace: namespace, Name: "one"}, object.ID{Group: "example.com", Kind: "RocketWebhookConfiguration", Name: "one"}
			require.Equal(t, state, summary.Results[0].State)
			require.Equal(t, []object.ID{rocket, clusterScoped}, []object.ID{summary.Results[0].ID, summary.Results[1].ID})
			require.Equal(t, namespace != "", slices.Contains(cluster.Happened(), memcluster.Entry{ID: rocket, What: "answered"}))
		})
	}
}

// A Namespace that nothing in the stream defines may be created by an operator: it gets the
// time of a kind that nothing defines, and no longer than others can still be applied.
func TestRunWaitsForANamespaceOfAnother(t *testing.T) {
	missing := apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "shop")
	for name, c := range map[string]struct {
		tries   int // that fail
		limit   time.Duration
		onePass bool
		invalid bool // another resource is
		state   event.State
		atMost  time.Duration
	}{
		"it is created":          {tries: 4, state: event.Ready, atMost: 30 * time.Second},
		"nothing creates it":     {tries: 1000, state: event.Failed, atMost: 30 * time.Second},
		"no wait":                {tries: 1000, limit: -1, state: event.Failed},
		"after another failure":  {tries: 1000, invalid: true, state: event.Failed},
		"a pass of a controller": {tries: 1000, onePass: true, state: event.Unsettled},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				plan, stream := planOf(t, plainPod("web"), plainPod("other"))
				cluster := &memcluster.Scripted{Scripts: map[object.ID]memcluster.Script{pod("web"): {Errs: slices.Repeat([]error{missing}, c.tries)}}}
				if c.invalid {
					cluster.Scripts[pod("other")] = memcluster.Script{Errs: []error{apierrors.NewBadRequest("no")}}
				}
				start := time.Now()
				summary, err := apply.Applier{Cluster: cluster, KindTimeout: c.limit, OnePass: c.onePass}.Run(t.Context(), plan, stream.Objects)
				require.Equal(t, c.state, states(summary)["web"])
				require.LessOrEqual(t, time.Since(start), c.atMost)
				if c.state == event.Failed {
					require.ErrorContains(t, err, "namespace \"shop\" does not exist, neither in the cluster nor in this stream: add it to the stream or create it first; "+
						"if another program creates it, wait for it with the annotation ordapply.dev/depends-on: external:/Namespace/shop")
				}
			})
		})
	}
}

// A kind that a resource of the stream provides is waited for up to the wave
// timeout, and in a dry run, which creates nothing, not at all.
func TestRunWaitsForProvidedKinds(t *testing.T) {
	manifests := func() []map[string]any {
		rocket := plainPod("moon")
		rocket["apiVersion"], rocket["kind"] = "example.com/v1", "Rocket"
		return []map[string]any{annotated(plainPod("operator"), "ordapply.dev/provides", "example.com/Rocket"), rocket}
	}
	for _, schedule := range []apply.Schedule{apply.Waves, apply.Graph} {
		synctest.Test(t, func(t *testing.T) {
			plan, stream := planOf(t, manifests()...)
			start := time.Now()
			cluster := &memcluster.Scripted{Serves: func(kind string) bool { return kind != "Rocket" || time.Since(start) > 2*time.Minute }}
			_, err := apply.Applier{Cluster: cluster, Schedule: schedule}.Run(t.Context(), plan, stream.Objects)
			require.NoError(t, err)
			require.LessOrEqual(t, time.Since(start), 4*time.Minute, "although no watch reports it")
		})
		synctest.Test(t, func(t *testing.T) {
			plan, stream := planOf(t, manifests()...)
			cluster := &memcluster.Scripted{Serves: func(kind string) bool { return kind != "Rocket" }}
			_, err := apply.Applier{Cluster: cluster, Schedule: schedule}.Run(t.Context(), plan, stream.Objects)
			requireTimeout(t, err, object.ID{Group: "example.com", Kind: "Rocket", Namespace: "shop", Name: "moon"}, 5*time.Minute, "wave")
		})
		synctest.Test(t, func(t *testing.T) {
			plan, stream := planOf(t, manifests()...)
			cluster := &memcluster.Scripted{Serves: func(kind string) bool { return kind != "Rocket" }}
			summary, err := apply.Applier{Cluster: cluster, Schedule: schedule, DryRun: true}.Run(t.Context(), plan, stream.Objects)
			require.NoError(t, err)
			require.Equal(t, map[string]event.State{"operator": event.Applied, "moon": event.Deferred}, states(summary))
		})
	}
}

// A kind that is installed outside the stream is found as soon as its
// definition appears; a wait of minutes costs few discovery requests. The
// definition of another kind of its group triggers a request too, but not
// each time.
func TestRunNoticesANewKind(t *testing.T) {
	for name, c := range map[string]struct {
		definitions []map[string]any
		every       time.Duration
		late        time.Duration
		looks       int
		unwatchable bool
	}{
		"its own":                {[]map[string]any{definition("CustomResourceDefinition", "rockets.example.com")}, 0, 100 * time.Millisecond, 10, false},
		"an APIService":          {[]map[string]any{definition("APIService", "v1.example.com")}, 0, 100 * time.Millisecond, 10, false},
		"an irregular plural":    {[]map[string]any{definition("CustomResourceDefinition", "rocketry.example.com")}, 0, 1100 * time.Millisecond, 10, false},
		"many of the same group": {slices.Repeat([]map[string]any{definition("CustomResourceDefinition", "others.example.com")}, 100), time.Second, time.Minute, 16, false},
		"another group":          {[]map[string]any{definition("CustomResourceDefinition", "rockets.example.org")}, 0, 130 * time.Second, 8, false},
		"nothing may be watched": {nil, 0, 15 * time.Second, 22, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				rocket := plainPod("moon")
				rocket["apiVersion"], rocket["kind"] = "example.com/v1", "Rocket"
				plan, stream := planOf(t, annotated(plainPod("operator"), "ordapply.dev/provides", "example.com/Rocket"), rocket)
				start := time.Now()
				const comes = 130 * time.Second
				cluster := &memcluster.Scripted{
					Serves: func(kind string) bool { return kind != "Rocket" || time.Since(start) >= comes },
					Store:  memcluster.Store{Faults: memcluster.Faults{Refuse: memcluster.ForbidsWatch(func(string) bool { return c.unwatchable })}},
				}
				for n, definition := range c.definitions {
					time.AfterFunc(comes-time.Duration(n)*c.every, func() {
						cluster.Send(kube.WatchEvent{Objects: []*unstructured.Unstructured{{Object: definition}}})
					})
				}
				_, err := apply.Applier{Cluster: cluster}.Run(t.Context(), plan, stream.Objects)
				require.NoError(t, err)
				require.Less(t, time.Since(start), comes+c.late)
				require.LessOrEqual(t, cluster.Refreshes(), c.looks)
			})
		})
	}
}

func definition(kind, name string) map[string]any {
	group := map[string]string{"CustomResourceDefinition": "apiextensions.k8s.io", "APIService": "apiregistration.k8s.io"}[kind]
	return map[string]any{"apiVersion": group + "/v1", "kind": kind, "metadata": map[string]any{"name": name}}
}

// An object that existed and was deleted does not exist.
func TestRunNoticesADeletedExternalDependency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		plan, stream := planOf(t, needing("web", "external:/namespaces/shop/Pod/db"))
		cluster := &memcluster.Scripted{Outside: map[object.ID]*unstructured.Unstructured{pod("db"): livePod("db", false)}}
		time.AfterFunc(10*time.Second, func() {
			cluster.Send(kube.WatchEvent{Deleted: true, Objects: []*unstructured.Unstructured{livePod("db", true)}})
		})
		_, err := apply.Applier{Cluster: cluster, WaveTimeout: time.Minute}.Run(t.Context(), plan, stream.Objects)
		requireTimeout(t, err, pod("web"), time.Minute, "wave")
	})
}
