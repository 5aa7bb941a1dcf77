package state

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/internal/author/hook"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/state/set"
	"github.com/ordapply/ordapply/test/memcluster"
)

// scenario is two runs and their initial state.
type scenario struct {
	name          string
	sample        string // the sort of fault that `make test` tries once; "": none
	set           object.ID
	before        *memcluster.Store
	first, second func(name string) *actor
	third         func(name string) *actor // optional
	later         func(name string) *actor // runs after both
	inSequence    bool                     // the second run begins when the first has ended
	forged        bool                     // the second run is that of a forger
	// denies reports whether admission denies an object, by key of the store and value;
	// optional.
	denies func(key, value string, created bool) bool
}

// runs returns the runs of a history before the last.
func (s scenario) runs() []*actor {
	runs := []*actor{s.first("run 1"), s.second("run 2")}
	if s.third != nil {
		runs = append(runs, s.third("run 3"))
	}
	return runs
}

// scenarios returns all scenarios.
func scenarios(t *testing.T) []scenario {
	return append(atOnce(t), inSequence(t)...)
}

// atOnce are the scenarios in which two runs are concurrent.
func atOnce(t *testing.T) []scenario {
	ab, ac, a, abc, c := wanting(t, keyA, keyB), wanting(t, keyA, keyC), wanting(t, keyA), wanting(t, keyA, keyB, keyC), wanting(t, keyC)
	hooked := a.withHooks(t, hook.PreUpgrade, hook.PreDelete)
	ours, kubectls, none := stocked(t, abc, false), stocked(t, abc, true), stocked(t, wish{}, false)
	return []scenario{
		{name: "both apply", sample: suspended, before: ours, later: a.apply, first: ab.apply, second: ac.apply, set: shopSet},
		{name: "apply and delete", sample: unserved, before: ours, later: a.apply, first: ab.apply, second: deleteSet, set: shopSet},
		{name: "first apply", before: none, later: a.apply, first: abc.apply, second: a.apply, set: shopSet},
		{
			name: "apply and delete with hooks", set: shopSet, before: serverSide(t, hooked), later: hooked.apply,
			first: hooked.apply, second: deleteSet,
		},
		{
			name: "apply and delete with a cluster-scoped parent", set: clusterSet, before: serverSide(t, a.of(t, clusterSet)), later: a.of(t, clusterSet).apply,
			first: ab.of(t, clusterSet).apply, second: deleting(clusterSet),
		},
		{
			name: "rollback on failure and a forger", set: shopSet, before: serverSide(t, a), later: a.apply, forged: true,
			first: ab.undone().apply, second: forging(t),
			denies: func(at, value string, _ bool) bool { return at == keyB && value == "run 1" },
		},
		{name: "deletion and a forger", set: shopSet, before: serverSide(t, a), later: a.apply, forged: true, first: deleteSet, second: forging(t)},
		{name: "prune and a label", set: shopSet, before: existing(serverSide(t, ab), keyL), later: a.apply, first: a.apply, second: labelling},
		{name: "deletion and a label", set: shopSet, before: existing(serverSide(t, ab), keyL), later: a.apply, first: deleteSet, second: labelling},
		{name: "take-over", before: kubectls, later: a.takeOver, first: ab.takeOver, second: c.takeOver, set: shopSet},
	}
}

// The events of the hooks in the scenarios; a rollback's own run in no other
// operation.
var lifecycle = []hook.Event{
	hook.PreInstall, hook.PostInstall, hook.PreUpgrade, hook.PostUpgrade, hook.PreDelete, hook.PostDelete,
}

// inSequence are the scenarios in which one run follows the other: hooks, adoption,
// recreation and undoing. Admission denies one object of the first run where that run
// is to fail.
func inSequence(t *testing.T) []scenario {
	a, ab, aj := wanting(t, keyA), wanting(t, keyA, keyB), wanting(t, keyA, keyJ)
	hooked, hookedB := a.withHooks(t, lifecycle...), ab.withHooks(t, lifecycle...)
	abc, acj := wanting(t, keyA, keyB, keyC), wanting(t, keyA, keyC, keyJ)
	other := object.ID{Kind: "Secret", Namespace: "other", Name: "other"}
	denies := func(key string) func(string, string, bool) bool {
		return func(at, value string, _ bool) bool { return at == key && value == "run 1" }
	}
	none := func() *memcluster.Store { return serverSide(t) }
	all := []scenario{
		{
			name: "hooks", before: serverSide(t, hooked),
			first: hooked.apply, second: deleteSet, later: hooked.apply,
		},
		{
			name: "hooks of a first run", before: none(),
			first: hooked.undone().apply, second: hooked.apply, later: hooked.apply,
		},
		{
			name: "hooks of a first run that fails", before: none(), denies: denies(keyB),
			first: hookedB.undone().apply, second: hookedB.apply, later: hooked.apply,
		},
		{
			name: "retry over a live application", before: existing(none(), keyA), denies: denies(keyB),
			first: hookedB.apply, second: hookedB.apply, later: hooked.apply,
		},
		{
			name: "rollback on failure over a live application", before: existing(none(), keyA), denies: denies(keyB),
			first: hookedB.undone().apply, second: hookedB.undone().apply, later: hooked.apply,
		},
		{
			name: "adoption", before: existing(serverSide(t, a), keyB), denies: denies(keyC),
			first: abc.undone().apply, second: a.apply, later: a.apply,
		},
		{
			name: "adoption and rollback", before: existing(serverSide(t, a), keyB),
			first: ab.apply, second: rollBack, later: a.apply,
		},
		{
			name: "adoption from another set", before: serverSide(t, a, wanting(t, keyB).of(t, other)), denies: denies(keyC),
			first: abc.adopting(t, applyset.AdoptAny).undone().apply, second: a.apply, later: a.apply,
		},
		{
			name: "recreation", before: serverSide(t, aj), denies: denies(keyC),
			first: acj.undone().apply, second: aj.apply, later: a.apply,
		},
		{
			name: "recreation and rollback", before: serverSide(t, aj),
			first: aj.apply, second: rollBack, later: aj.apply,
		},
		{
			name: "recreation that admission denies", before: serverSide(t, aj),
			denies: func(at, value string, created bool) bool { return at == keyJ && value == "run 1" && created },
			first:  aj.apply, second: aj.apply, later: a.apply,
		},
		{
			name: "rollback on failure with hooks", before: serverSide(t, hooked), denies: denies(keyB),
			first: hookedB.undone().apply, second: hooked.apply, later: hooked.apply,
		},
		{
			name: "adoption in two runs and rollback", before: existing(serverSide(t, a), keyB), denies: denies(keyC),
			first: abc.apply, second: ab.undone().apply, third: rollBack, later: a.apply,
		},
		{
			name: "adoption and deletion", before: existing(serverSide(t, a), keyB), denies: denies(keyC),
			first: abc.apply, second: deleteSet, later: a.apply,
		},
		{
			name: "deletion of a set whose members another set took", before: serverSide(t, hooked),
			first: a.of(t, other).adopting(t, applyset.AdoptAny).apply, second: deleteSet, later: a.of(t, other).adopting(t, applyset.AdoptAny).apply,
		},
		{
			name: "cluster-scoped parent", before: serverSide(t, ab.of(t, clusterSet)), set: clusterSet,
			first: ab.of(t, clusterSet).apply, second: deleting(clusterSet), later: a.of(t, clusterSet).apply,
		},
		{
			name: "hooks alone", before: serverSide(t, ab),
			first: wanting(t).withHooks(t, hook.PreUpgrade).apply, second: a.apply, later: a.apply,
		},
	}
	for i := range all {
		all[i].inSequence = true
		if all[i].set.Name == "" {
			all[i].set = shopSet
		}
	}
	return all
}

// serverSide returns a cluster that answers as an API server does, with the sets of some
// streams and objects of no set.
func serverSide(t *testing.T, streams ...wish) *memcluster.Store {
	s := stocked(t, wish{}, false)
	s.ServerSide.On = true
	for _, name := range []string{"shop", "other", home} {
		addNamespace(s, name)
	}
	s.Add(kube.DefinitionKind("customresourcedefinitions"), parentDefinition())
	for _, stream := range streams {
		synctest.Test(t, func(t *testing.T) {
			w, a := newWorld(scenario{before: s, set: stream.set}), stream.apply("before")
			w.toItsEnd(a)
			require.NoError(t, a.err)
			require.Empty(t, w.violation)
			s = w.store
			w.end()
		})
	}
	s.Log = nil
	return s
}

// parentDefinition defines the kind of a cluster-scoped parent.
func parentDefinition() *unstructured.Unstructured {
	crd := &unstructured.Unstructured{Object: map[string]any{
		"spec": map[string]any{
			"group": "ordapply.dev", "scope": "Cluster", "names": map[string]any{"kind": "ApplySet", "plural": "applysets"},
			"versions": []any{map[string]any{"name": "v1", "served": true, "storage": true}},
		},
		"status": map[string]any{"storedVersions": []any{"v1"}},
	}}
	crd.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"})
	crd.SetName("applysets.ordapply.dev")
	crd.SetLabels(map[string]string{set.ParentTypeLabel: "true"})
	return crd
}

// existing adds objects that another user made.
func existing(s *memcluster.Store, keys ...string) *memcluster.Store {
	for _, key := range keys {
		obj := exploredObject(key, "")
		obj.Object["data"] = map[string]any{"theirs": "kept"}
		memcluster.AppliedBy(obj, "another-user", time.Date(1999, 1, 1, 0, 0, 0, 0, time.UTC))
		kind, _ := s.Kind(obj.GroupVersionKind())
		s.Add(kind, obj)
	}
	return s
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
			r := w.runs["before"]
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
		promise = promise.WithMembers([]object.ID{kube.Meta(obj).ID})
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
