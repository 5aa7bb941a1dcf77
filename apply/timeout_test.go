package apply_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
	"github.com/ordapply/ordapply/test/memcluster"
)

// annotated adds an annotation to a manifest.
func annotated(m map[string]any, key, value string) map[string]any {
	meta := m["metadata"].(map[string]any)
	if meta["annotations"] == nil {
		meta["annotations"] = map[string]any{}
	}
	meta["annotations"].(map[string]any)[key] = value
	return m
}

// runFor runs a plan whose Pod "slow" becomes ready after some time, and
// returns how long the run took.
func runFor(t *testing.T, readyAfter time.Duration, applier apply.Applier, options ordering.Options, manifests ...map[string]any) (time.Duration, error) {
	t.Helper()
	plan, stream := planWith(t, options, manifests...)
	applier.Cluster = &memcluster.Scripted{Scripts: map[object.ID]memcluster.Script{pod("slow"): {ReadyAfter: readyAfter, Never: readyAfter == 0}}}
	start := time.Now()
	_, err := applier.Run(t.Context(), plan, stream.Objects)
	return time.Since(start), err
}

// The most specific timeout applies: the resource's, its kind's, its layer's,
// the wave's. A longer one of the resource or kind overrides the wave's.
func TestTimeoutsOfEveryScope(t *testing.T) {
	kinds := ordering.Options{KindTimeouts: []ordering.KindTimeout{{Kind: "Pod", Timeout: 20 * time.Second}}}
	long := ordering.Options{KindTimeouts: []ordering.KindTimeout{{Kind: "Pod", Timeout: 20 * time.Minute}}}
	layer := func(p map[string]any) map[string]any { return annotated(p, "ordapply.dev/layer-timeout", "30s") }
	for name, c := range map[string]struct {
		slow    map[string]any
		options ordering.Options
		after   time.Duration
		scope   string
	}{
		"resource":                  {slow: annotated(plainPod("slow"), "ordapply.dev/timeout", "10s"), after: 10 * time.Second, scope: "resource"},
		"resource, as HIP-0025":     {slow: annotated(plainPod("slow"), "helm.sh/readiness-timeout", "10s"), after: 10 * time.Second, scope: "resource"},
		"resource before kind":      {slow: annotated(plainPod("slow"), "ordapply.dev/timeout", "10s"), options: kinds, after: 10 * time.Second, scope: "resource"},
		"kind":                      {slow: plainPod("slow"), options: kinds, after: 20 * time.Second, scope: "kind"},
		"kind before layer":         {slow: layer(testPod("slow", 0, "")), options: kinds, after: 20 * time.Second, scope: "kind"},
		"layer":                     {slow: layer(testPod("slow", 0, "")), after: 30 * time.Second, scope: "layer app/l0"},
		"wave":                      {slow: plainPod("slow"), after: time.Minute, scope: "wave"},
		"resource longer than wave": {slow: annotated(plainPod("slow"), "ordapply.dev/timeout", "10m"), after: 10 * time.Minute, scope: "resource"},
		"kind longer than wave":     {slow: plainPod("slow"), options: long, after: 20 * time.Minute, scope: "kind"},
	} {
		for _, schedule := range []apply.Schedule{apply.Waves, apply.Graph} {
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					took, err := runFor(t, 0, apply.Applier{WaveTimeout: time.Minute, Schedule: schedule}, c.options, c.slow, plainPod("quick"))
					requireTimeout(t, err, pod("slow"), c.after, c.scope)
					require.Equal(t, c.after, took)
				})
			})
		}
	}
}

// Resources that no worker has taken yet are due, too: nothing is sent after a timeout.
func TestTimeoutsOfWhatWasNotSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		manifests := map[string][]map[string]any{}
		cluster := &memcluster.Scripted{Scripts: map[object.ID]memcluster.Script{}}
		for i := range 1000 {
			name := fmt.Sprint("p", i)
			manifests["wave"] = append(manifests["wave"], testPod(name, 0, ""))
			manifests["layer app/l0"] = append(manifests["layer app/l0"], annotated(testPod(name, 0, ""), "ordapply.dev/layer-timeout", "30s"))
			cluster.Scripts[pod(name)] = memcluster.Script{Latency: 40 * time.Second}
		}
		manifests["kind"], manifests["graph"] = manifests["wave"], manifests["wave"]
		for scope, applier := range map[string]apply.Applier{
			"layer app/l0": {}, "wave": {WaveTimeout: 20 * time.Second}, "graph": {WaveTimeout: 20 * time.Second, Schedule: apply.Graph}, "kind": {},
		} {
			var options ordering.Options
			if scope == "kind" {
				options.KindTimeouts = []ordering.KindTimeout{{Kind: "Pod", Timeout: 20 * time.Second}}
			}
			plan, stream := planWith(t, options, manifests[scope]...)
			applier.Cluster = cluster
			start := time.Now()
			summary, err := applier.Run(t.Context(), plan, stream.Objects)
			require.Error(t, err)
			require.Less(t, time.Since(start), time.Minute, scope)
			for _, r := range summary.Results {
				require.Equal(t, event.TimedOut, r.State, "%s: %s %s", scope, r.ID, r.Detail)
			}
		}
	})
}

// A resource with a longer timeout than its wave may use it, and its
// dependents in the wave then proceed.
func TestALongerTimeOfItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		took, err := runFor(t, 7*time.Minute, apply.Applier{WaveTimeout: time.Minute}, ordering.Options{},
			annotated(plainPod("slow"), "ordapply.dev/timeout", "10m"), dependent("behind", "slow"))
		require.NoError(t, err)
		require.Equal(t, 7*time.Minute, took)
	})
}

// A wave that spares one resource still bounds the others.
func TestAWaveTimeoutDoesNotCutShortALongerOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		plan, stream := planOf(t, annotated(plainPod("slow"), "ordapply.dev/timeout", "10m"),
			annotated(plainPod("behind"), "ordapply.dev/depends-on", "/namespaces/shop/Pod/slow?gate=applied"))
		require.Len(t, plan.Waves, 1)
		cluster := &memcluster.Scripted{Scripts: map[object.ID]memcluster.Script{pod("slow"): {Latency: 150 * time.Second}, pod("behind"): {Never: true}}}
		start := time.Now()
		_, err := apply.Applier{Cluster: cluster, WaveTimeout: time.Minute}.Run(t.Context(), plan, stream.Objects)
		requireTimeout(t, err, pod("behind"), time.Minute, "wave")
		require.Equal(t, 3*time.Minute, time.Since(start))
	})
}

// A layer's timeout does not cut short a resource with a longer one, and
// still bounds the others.
func TestALayerTimeoutDoesNotCutShortALongerOne(t *testing.T) {
	inLayer := func(p map[string]any) map[string]any { return annotated(p, "ordapply.dev/layer-timeout", "30s") }
	synctest.Test(t, func(t *testing.T) {
		slow := annotated(inLayer(testPod("slow", 0, "")), "ordapply.dev/timeout", "2m")
		took, err := runFor(t, time.Minute, apply.Applier{}, ordering.Options{}, slow)
		require.NoError(t, err)
		require.Equal(t, time.Minute, took)
	})
	synctest.Test(t, func(t *testing.T) {
		plan, stream := planOf(t, annotated(inLayer(testPod("slow", 0, "")), "ordapply.dev/timeout", "10m"),
			annotated(inLayer(testPod("behind", 0, "")), "ordapply.dev/depends-on", "/namespaces/shop/Pod/slow?gate=applied"))
		cluster := &memcluster.Scripted{Scripts: map[object.ID]memcluster.Script{pod("slow"): {Latency: 45 * time.Second}, pod("behind"): {Never: true}}}
		start := time.Now()
		_, err := apply.Applier{Cluster: cluster, Schedule: apply.Graph}.Run(t.Context(), plan, stream.Objects)
		requireTimeout(t, err, pod("behind"), 30*time.Second, "layer app/l0")
		require.Equal(t, time.Minute, time.Since(start))
	})
}

// The time that a layer used before it had to wait for others counts.
func TestALayersTimeIsCountedTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		options := stackOf(90 * time.Second)
		options.Stacks[1].DependsOn = nil
		plan, stream := planWith(t, options, plainPod("base"), plainPod("db"), dependent("web", "base"))
		cluster := &memcluster.Scripted{Scripts: map[object.ID]memcluster.Script{
			pod("base"): {ReadyAfter: 4 * time.Minute}, pod("db"): {ReadyAfter: time.Minute}, pod("web"): {ReadyAfter: time.Minute},
		}}
		start := time.Now()
		_, err := apply.Applier{Cluster: cluster, Schedule: apply.Graph}.Run(t.Context(), plan, stream.Objects)
		requireTimeout(t, err, pod("web"), 90*time.Second, "stack shop")
		require.Equal(t, 4*time.Minute+30*time.Second, time.Since(start))
	})
}

// stackOf returns stacks base, and shop, which waits for base; web of shop
// waits for its db.
func stackOf(shopTimeout time.Duration) ordering.Options {
	return ordering.Options{
		Stacks: []ordering.Stack{
			{Name: "base", Applications: []ordering.App{{Name: "first"}, {Name: "second"}}},
			{Name: "shop", Timeout: shopTimeout, DependsOn: []string{"base"}, Applications: []ordering.App{{Name: "db"}, {Name: "web", DependsOn: []string{"db"}}}},
		},
		ApplicationOf: func(m object.Meta) string {
			return map[string]string{"base": "base/first", "base2": "base/second", "db": "shop/db", "web": "shop/web"}[m.Name]
		},
	}
}

// runStacks runs Pods with a plan of stacks.
func runStacks(t *testing.T, applier apply.Applier, options ordering.Options, scripts map[object.ID]memcluster.Script) (event.Summary, error) {
	t.Helper()
	plan, stream := planWith(t, options, plainPod("base"), plainPod("base2"), plainPod("db"), plainPod("web"))
	require.Len(t, plan.Waves, 3)
	applier.Cluster = &memcluster.Scripted{Scripts: scripts}
	return applier.Run(t.Context(), plan, stream.Objects)
}

// A stack's timeout counts the time in which any of its resources is in
// progress, in all waves, but not its wait for other stacks.
func TestAStacksTimeSpansItsWaves(t *testing.T) {
	scripts := map[object.ID]memcluster.Script{
		pod("base"): {ReadyAfter: 4 * time.Minute}, pod("db"): {ReadyAfter: time.Minute}, pod("web"): {ReadyAfter: time.Minute},
	}
	for _, schedule := range []apply.Schedule{apply.Waves, apply.Graph} {
		synctest.Test(t, func(t *testing.T) {
			_, err := runStacks(t, apply.Applier{Schedule: schedule}, stackOf(3*time.Minute), scripts)
			require.NoError(t, err)
		})
		synctest.Test(t, func(t *testing.T) {
			summary, err := runStacks(t, apply.Applier{Schedule: schedule}, stackOf(90*time.Second), scripts)
			requireTimeout(t, err, pod("web"), 90*time.Second, "stack shop")
			require.Equal(t, map[string]event.State{"base": event.Ready, "base2": event.Ready, "db": event.Ready, "web": event.TimedOut}, states(summary))
		})
	}
}

// In graph mode too a stack waits for every application of the stack before
// it, and skipped resources name the reason.
func TestGraphWaitsForWholeStacks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		_, err := runStacks(t, apply.Applier{Schedule: apply.Graph}, stackOf(0), map[object.ID]memcluster.Script{pod("base2"): {ReadyAfter: time.Minute}, pod("db"): {ReadyAfter: time.Minute}})
		require.NoError(t, err)
		require.Equal(t, 2*time.Minute, time.Since(start))
	})
	synctest.Test(t, func(t *testing.T) {
		summary, err := runStacks(t, apply.Applier{Schedule: apply.Graph}, stackOf(0), map[object.ID]memcluster.Script{pod("base2"): {Errs: []error{apierrors.NewBadRequest("no")}}})
		require.Equal(t, event.OpApply, failureOf(t, err, pod("base2")).Op)
		require.Equal(t, map[string]event.State{"base": event.Ready, "base2": event.Failed, "db": event.Skipped, "web": event.Skipped}, states(summary))
	})
}

// rocket returns a custom resource.
func rocket() map[string]any {
	p := plainPod("rocket")
	p["apiVersion"], p["kind"] = "rockets.example/v1", "Rocket"
	return p
}

// Timeouts can be switched off.
func TestWithoutTimes(t *testing.T) {
	took := func(t *testing.T, cluster *memcluster.Scripted, applier apply.Applier, m map[string]any) (time.Duration, error) {
		plan, stream := planOf(t, m)
		applier.Cluster = cluster
		start := time.Now()
		_, err := applier.Run(t.Context(), plan, stream.Objects)
		return time.Since(start), err
	}
	for _, schedule := range []apply.Schedule{apply.Waves, apply.Graph} {
		synctest.Test(t, func(t *testing.T) {
			d, err := runFor(t, 2*time.Hour, apply.Applier{WaveTimeout: -1, Schedule: schedule}, ordering.Options{}, plainPod("slow"))
			require.NoError(t, err)
			require.Equal(t, 2*time.Hour, d)
		})
	}
	synctest.Test(t, func(t *testing.T) {
		d, err := took(t, &memcluster.Scripted{Serves: func(string) bool { return false }}, apply.Applier{KindTimeout: -1}, rocket())
		require.Equal(t, event.CodeNotServed, event.CodeOf(err))
		require.Zero(t, d)
	})
	for grace, want := range map[time.Duration]time.Duration{0: 15 * time.Second, -1: 0} {
		synctest.Test(t, func(t *testing.T) {
			silent := &memcluster.Scripted{Scripts: map[object.ID]memcluster.Script{{Group: "rockets.example", Kind: "Rocket", Namespace: "shop", Name: "rocket"}: {Bare: true}}}
			d, err := took(t, silent, apply.Applier{StatusGrace: grace}, rocket())
			require.NoError(t, err)
			require.Equal(t, want, d)
		})
	}
}

// An API server answers and establishes CustomResourceDefinitions one after the other. Their
// timeout starts again with each that makes progress, and ends the wait for one that stays behind.
func TestTheCRDTimeoutCountsFromTheLastProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		scripts := map[object.ID]memcluster.Script{}
		var crds []map[string]any
		for n := range 5 {
			crd := namedCRD(fmt.Sprintf("kind%d", n))
			established := &unstructured.Unstructured{Object: crd}
			established = memcluster.LiveObject(established, true)
			established.Object["status"] = map[string]any{"conditions": []any{map[string]any{"type": "Established", "status": "True"}}}
			scripts[crdID(crd)] = memcluster.Script{Latency: time.Duration(n+1) * 20 * time.Second, Answer: established}
			crds = append(crds, crd)
		}
		run := func() (time.Duration, error) {
			plan, stream := planOf(t, crds...)
			start := time.Now()
			_, err := apply.Applier{Cluster: &memcluster.Scripted{Scripts: scripts}}.Run(t.Context(), plan, stream.Objects)
			return time.Since(start), err
		}
		took, err := run()
		require.NoError(t, err)
		require.Equal(t, 100*time.Second, took)
		behind := crdID(crds[4])
		scripts[behind] = memcluster.Script{Never: true}
		took, err = run()
		timeout := requireTimeout(t, err, behind, 30*time.Second, "CRD")
		require.ErrorContains(t, timeout, "not ready after 30s without progress of any CustomResourceDefinition (--crd-timeout): ")
		require.Equal(t, 110*time.Second, took) // the last of the others was established after 80s
	})
}

func namedCRD(kind string) map[string]any {
	return map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": map[string]any{"name": kind + "s.example.com"},
		"spec": map[string]any{
			"group": "example.com", "scope": "Namespaced", "names": map[string]any{"kind": kind, "plural": kind + "s"},
			"versions": []any{map[string]any{"name": "v1", "served": true, "storage": true}},
		},
	}
}

func crdID(crd map[string]any) object.ID {
	return kube.Meta(&unstructured.Unstructured{Object: crd}).ID
}

func TestTimeoutsThatAreNone(t *testing.T) {
	_, err := apply.NewStream([]apply.Input{{Object: &unstructured.Unstructured{Object: annotated(plainPod("a"), "ordapply.dev/timeout", "soon")}, Source: "a.yaml"}}, apply.Scope{Namespace: "shop"})
	require.EqualError(t, err, `a.yaml: Pod a: annotation ordapply.dev/timeout: "soon" is not a duration such as 90s`)
}

// A layer's timeout does not bound a resource of no layer in the same wave; one that the next
// wave does not wait for has its own wave's time.
func TestAResourceOfNoLayerHasTheTimeoutOfWaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		layered := annotated(testPod("layered", 0, ""), "ordapply.dev/layer-timeout", "5s")
		last := annotated(testPod("last", 1, ""), "ordapply.dev/layer-timeout", "10m")
		needed := plainPod("bystander") // nothing places it, and it goes before its dependent
		annotated(layered, "ordapply.dev/depends-on", "/namespaces/shop/Pod/bystander?gate=applied")
		plan, stream := planOf(t, layered, last, needed)
		require.Equal(t, 1, stepOf(plan, pod("bystander")).ReadyBy)
		cluster := &memcluster.Scripted{Scripts: map[object.ID]memcluster.Script{
			pod("bystander"): {Never: true}, pod("layered"): {ReadyAfter: 2 * time.Second}, pod("last"): {ReadyAfter: 5 * time.Minute},
		}}
		start := time.Now()
		_, err := apply.Applier{Cluster: cluster, WaveTimeout: time.Minute}.Run(t.Context(), plan, stream.Objects)
		requireTimeout(t, err, pod("bystander"), time.Minute, "wave")
		require.Equal(t, time.Minute, time.Since(start).Round(time.Second))
	})
}

// All five levels of timeouts in one table: each row drops the most specific
// one, and the most specific of the rest applies although lower ones are shorter.
// The run's own timeout bounds them all.
func TestTheMostSpecificTimeoutHolds(t *testing.T) {
	for _, c := range []struct {
		levels int // number of timeouts, from the least specific
		after  time.Duration
		scope  string
	}{
		{5, 50 * time.Second, "resource"},
		{4, 40 * time.Second, "kind"},
		{3, 30 * time.Second, "layer app/l0"},
		{2, 20 * time.Second, "wave"},
	} {
		t.Run(c.scope, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				slow, options := testPod("slow", 0, ""), ordering.Options{}
				applier := apply.Applier{WaveTimeout: 20 * time.Second, Timeout: 10 * time.Minute}
				if c.levels >= 3 {
					annotated(slow, "ordapply.dev/layer-timeout", "30s")
				}
				if c.levels >= 4 {
					options.KindTimeouts = []ordering.KindTimeout{{Kind: "Pod", Timeout: 40 * time.Second}}
				}
				if c.levels >= 5 {
					annotated(slow, "ordapply.dev/timeout", "50s")
				}
				took, err := runFor(t, 0, applier, options, slow)
				requireTimeout(t, err, pod("slow"), c.after, c.scope)
				require.Equal(t, c.after, took)
				applier.Timeout = 10 * time.Second
				took, err = runFor(t, 0, applier, options, slow)
				requireTimeout(t, err, pod("slow"), 10*time.Second, "run")
				require.Equal(t, 10*time.Second, took)
			})
		})
	}
}

// A controller that starts may define a kind: its time begins when the workloads are ready.
func TestTheTimeOfAKindBeginsWhenWorkloadsAreReady(t *testing.T) {
	for kind, want := range map[string]event.State{"StatefulSet": event.Ready, "ConfigMap": event.Failed} {
		synctest.Test(t, func(t *testing.T) {
			first, late := plainPod("operator"), plainPod("moon")
			first["apiVersion"], first["kind"] = map[string]string{"StatefulSet": "apps/v1", "ConfigMap": "v1"}[kind], kind
			late["apiVersion"], late["kind"] = "example.com/v1", "Rocket"
			plan, stream := planOf(t, first, late)
			start := time.Now()
			cluster := &memcluster.Scripted{Serves: func(kind string) bool { return kind != "Rocket" || time.Since(start) > 45*time.Second }}
			summary, _ := apply.Applier{Cluster: cluster}.Run(t.Context(), plan, stream.Objects)
			require.Equal(t, want, states(summary)["moon"], kind)
		})
	}
}
