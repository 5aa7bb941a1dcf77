package state

import (
	"context"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/internal/test/memcluster"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
)

// TestEveryHistory explores everything that two runs on a set of three
// objects can lead to: every interleaving of their requests, with faults
// between them. After every request each live member is in the kinds and
// namespaces of its set, and foreign objects are unchanged; when both runs
// have ended, the cluster is as the last holder of the lock specifies, if
// that run succeeded; and a later run repairs everything.
//
// The runs are the product's own code. A request takes no time, and waits
// until the exploration lets it proceed. Time passes where runs wait for it,
// and while one is suspended, for longer than its Lease lasts. A Lease that
// is deleted while its holder is alive and not suspended is left out: the
// holder learns of that only by its next renewal (docs/state.md).
//
// `make test` tries unserved Widgets where both runs apply, and one
// suspension where one deletes the set; `make explore` everything with FAULTS
// faults.
func TestEveryHistory(t *testing.T) {
	if raceDetector {
		t.Skip("no history goes twice the same way under -race; `make test` runs this without")
	}
	if testing.Short() {
		t.Skip("left out with -short: histories of two runs")
	}
	defer debug.SetGCPercent(debug.SetGCPercent(1000))
	faults, err := strconv.Atoi(os.Getenv("ORDAPPLY_EXPLORE"))
	sample := err != nil
	for _, s := range scenarios(t) {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			began := time.Now()
			e := &exploration{scenario: s, faults: faults}
			if sample {
				e.faults, e.sorts = min(len(s.sample), 1), []string{s.sample}
			}
			e.run(t)
			fmt.Printf("two runs, %s: %d histories with at most %d faults, %d of them to their end and the others until they were like an earlier one, %d states, %d requests, %d repeated, %d lost track; %s\n",
				s.name, e.histories, e.faults, e.whole, len(e.visited), e.requests, e.repeated, e.diverged, time.Since(began).Round(time.Second))
			e.judge(t)
		})
	}
}

// judge fails with one history for each broken invariant, and when a known
// violation did not occur.
func (e *exploration) judge(t *testing.T) {
	if e.diverged > 0 {
		t.Errorf("%d histories did not go again as they went before: something in a run is random, or in the order of a map", e.diverged)
	}
	for what, v := range e.found {
		if !slices.ContainsFunc(knownViolations, func(known string) bool { return strings.HasPrefix(e.scenario.name+": "+what, known) }) {
			t.Errorf("%s\n%d faults:\n  %s", what, v.faults, strings.Join(v.trace, "\n  "))
		}
	}
	for _, known := range knownViolations {
		if strings.HasPrefix(known, e.scenario.name+": ") && !e.hasFound(known) {
			t.Errorf("this no longer happens, take it off knownViolations: %s", known)
		}
	}
}

func (e *exploration) hasFound(known string) bool {
	for what := range e.found {
		if strings.HasPrefix(e.scenario.name+": "+what, known) {
			return true
		}
	}
	return false
}

// knownViolations are the known ones: the name of a scenario, and the prefix
// of the message. It should be empty.
var knownViolations []string

// scenario is the initial state of two runs, and what they do.
type scenario struct {
	name          string
	sample        string // the sort of fault that `make test` tries once; "": none
	before        *memcluster.Store
	first, second func(name string) *actor
	later         func(name string) *actor // runs after both
}

const (
	keyA = "configmaps/shop/a"
	keyB = swapKey
	keyC = "widgets.example.com/shop/c"
)

func scenarios(t *testing.T) []scenario {
	ab, ac, a, abc, c := wanting(t, keyA, keyB), wanting(t, keyA, keyC), wanting(t, keyA), wanting(t, keyA, keyB, keyC), wanting(t, keyC)
	ours, kubectls, none := stocked(t, abc, false), stocked(t, abc, true), stocked(t, wish{}, false)
	return []scenario{
		{name: "both apply", sample: suspended, before: ours, later: a.apply, first: ab.apply, second: ac.apply},
		{name: "apply and delete", sample: unserved, before: ours, later: a.apply, first: ab.apply, second: deleteSet},
		{name: "first apply", before: none, later: a.apply, first: abc.apply, second: a.apply},
		{name: "take-over", before: kubectls, later: a.takeOver, first: ab.takeOver, second: c.takeOver},
	}
}

// runs returns the two runs of a history.
func (s scenario) runs() []*actor { return []*actor{s.first("run 1"), s.second("run 2")} }

// wish is a stream of some of the three objects.
type wish struct {
	keys []string
	run  func(value string) Run
}

func wanting(t *testing.T, keys ...string) wish {
	runs := map[string]Run{}
	for _, value := range []string{"before", "run 1", "run 2", "later"} {
		var inputs []apply.Input
		for _, key := range keys {
			inputs = append(inputs, apply.Input{Object: exploredObject(key, value), Source: "test"})
		}
		runs[value] = runFor(t, inputs)
	}
	return wish{keys, func(value string) Run { return runs[value] }}
}

func (w wish) apply(name string) *actor { return w.actor(name, false) }

func (w wish) takeOver(name string) *actor { return w.actor(name, true) }

func (w wish) actor(name string, takeOver bool) *actor {
	a := &actor{name: name, says: map[string]string{}}
	for _, key := range w.keys {
		a.says[key] = name
	}
	a.do = func(ctx context.Context, cluster Cluster) error {
		r := w.run(name)
		r.Cluster, r.Applier.Cluster, r.Remover.Cluster = cluster, cluster, cluster
		r.Applier.Workers, r.Remover.Workers, r.Applier.KindTimeout = 3, 3, -1
		r.Applier.WaveTimeout, r.Remover.WaveTimeout = waveTimeout, waveTimeout
		r.LockTimeout, r.TakeOver = time.Hour, takeOver
		_, err := r.Do(ctx)
		return err
	}
	return a
}

// waveTimeout is longer than two suspensions.
const waveTimeout = time.Minute

// deleteSet returns a run that deletes the set.
func deleteSet(name string) *actor {
	return &actor{name: name, do: func(ctx context.Context, cluster Cluster) error {
		_, err := SetDeletion{
			SetRef:  SetRef{Cluster: cluster, Parent: shopSet, Kind: corev1.SchemeGroupVersion.WithKind("Secret"), LockTimeout: time.Hour},
			Remover: apply.Remover{Cluster: cluster, Workers: 3, WaveTimeout: waveTimeout},
		}.Do(ctx)
		return err
	}}
}

// exploredObject returns one of the three objects, with a value.
func exploredObject(key, value string) *unstructured.Unstructured {
	gvk := map[string]schema.GroupVersionKind{
		keyA: {Version: "v1", Kind: "ConfigMap"}, keyB: {Version: "v1", Kind: "ServiceAccount"}, keyC: widget.WithVersion("v1"),
	}[key]
	place := strings.Split(key, "/")
	obj := &unstructured.Unstructured{Object: map[string]any{"data": map[string]any{"v": value}}}
	obj.SetGroupVersionKind(gvk)
	obj.SetNamespace(place[1])
	obj.SetName(place[2])
	return obj
}

// stocked returns a cluster with the set of a wish, made by ordapply or by
// kubectl, and with objects of no set.
func stocked(t *testing.T, w wish, kubectls bool) *memcluster.Store {
	s := memcluster.New()
	foreign := func(gvk schema.GroupVersionKind, namespace, name string, labels map[string]string) {
		obj := &unstructured.Unstructured{}
		obj.SetGroupVersionKind(gvk)
		obj.SetNamespace(namespace)
		obj.SetName(name)
		obj.SetLabels(labels)
		obj.SetAnnotations(map[string]string{"owner": "another user"})
		obj.SetManagedFields([]metav1.ManagedFieldsEntry{{
			Manager: "controller", Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "v1", FieldsType: "FieldsV1",
			FieldsV1: metav1.NewFieldsV1(`{"f:metadata":{"f:labels":{"f:` + applyset.PartOfLabel + `":{}}}}`),
		}})
		kind, _ := s.Kind(gvk)
		s.Add(kind, obj)
	}
	foreign(schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, "shop", "foreign", nil)
	foreign(schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, "shop", "copied", map[string]string{applyset.PartOfLabel: applyset.Parent{ID: shopSet}.SetID()})
	foreign(widget.WithVersion("v1"), "shop", "foreign", nil)
	crd := schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"}
	foreign(crd, "", "widgets.example.com", nil)
	defineWidgets(s.Objects["customresourcedefinitions.apiextensions.k8s.io//widgets.example.com"])
	switch {
	case kubectls:
		kubectlSet(t, s, w)
	case len(w.keys) > 0:
		synctest.Test(t, func(t *testing.T) {
			r := w.run("before")
			r.Cluster, r.Applier.Cluster, r.Remover.Cluster = s, s, s
			done(t, r)
		})
	}
	s.Log = nil
	return s
}

// defineWidgets fills in the definition of Widgets, which were served before.
func defineWidgets(crd *unstructured.Unstructured) {
	crd.Object["spec"] = map[string]any{
		"group": widget.Group, "scope": "Namespaced", "names": map[string]any{"kind": widget.Kind, "plural": "widgets"},
		"versions": []any{map[string]any{"name": "v1", "served": true, "storage": true}},
	}
	crd.Object["status"] = map[string]any{"storedVersions": []any{"v1"}}
}

// kubectlSet creates the set as kubectl does.
func kubectlSet(t *testing.T, s *memcluster.Store, w wish) {
	promise := applyset.Parent{ID: shopSet, Tooling: "kubectl/v1.36"}
	put := func(obj *unstructured.Unstructured) {
		kind, _ := s.Kind(obj.GroupVersionKind())
		_, err := s.Apply(t.Context(), kind, obj, kube.PatchOptions{Manager: "kubectl-applyset"})
		require.NoError(t, err)
	}
	var members []*unstructured.Unstructured
	for _, key := range w.keys {
		obj := exploredObject(key, "before")
		obj.SetLabels(map[string]string{applyset.PartOfLabel: promise.SetID()})
		promise = promise.WithMembers([]object.ID{apply.Meta(obj).ID})
		members = append(members, obj)
	}
	parent := &unstructured.Unstructured{}
	parent.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	parent.SetNamespace(shopSet.Namespace)
	parent.SetName(shopSet.Name)
	parent.SetLabels(map[string]string{applyset.IDLabel: promise.SetID()})
	parent.SetAnnotations(promise.Annotations())
	put(parent)
	for _, obj := range members {
		put(obj)
	}
}
