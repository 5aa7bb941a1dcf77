package applyset_test

import (
	"encoding/json"
	"maps"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/util/managedfields/managedfieldstest"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/ordapply/ordapply/applyset"
)

// world simulates an API server for one kind: the field manager of apimachinery
// with a random schema, and defaulting.
type world struct {
	shapes
	spec    *shape
	gvk     schema.GroupVersionKind
	manager *managedfields.FieldManager
}

func newWorld(t *testing.T, rng *rand.Rand, declared bool) *world {
	t.Helper()
	w := &world{shapes: shapes{rng, declared}, gvk: schema.GroupVersionKind{Group: "random.example", Version: "v1", Kind: "Thing"}}
	if declared {
		w.gvk.Group = "apps"
	}
	w.spec = w.structure(3)
	w.spec.atomic = false
	text, err := json.Marshal(map[string]any{
		"type":                            "object",
		"x-kubernetes-group-version-kind": []any{map[string]any{"group": w.gvk.Group, "version": w.gvk.Version, "kind": w.gvk.Kind}},
		"properties": map[string]any{
			"apiVersion": map[string]any{"type": "string"}, "kind": map[string]any{"type": "string"},
			"spec": w.spec.openAPI(),
			"metadata": map[string]any{"type": "object", "properties": map[string]any{
				"name": map[string]any{"type": "string"}, "namespace": map[string]any{"type": "string"},
				"managedFields": map[string]any{"type": "array", "x-kubernetes-list-type": "atomic", "items": map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
				"annotations":   map[string]any{"type": "object", "additionalProperties": map[string]any{"type": "string"}},
				"labels":        map[string]any{"type": "object", "additionalProperties": map[string]any{"type": "string"}},
				"finalizers":    map[string]any{"type": "array", "x-kubernetes-list-type": "set", "items": map[string]any{"type": "string"}},
			}},
		},
	})
	require.NoError(t, err)
	var model spec.Schema
	require.NoError(t, json.Unmarshal(text, &model))
	converter, err := managedfields.NewTypeConverter(map[string]*spec.Schema{"Thing": &model}, false)
	require.NoError(t, err)
	w.manager = managedfieldstest.NewFakeFieldManager(converter, w.gvk)
	return w
}

func (w *world) object(spec map[string]any) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{Object: map[string]any{"spec": spec, "metadata": map[string]any{"name": "a", "namespace": "b"}}}
	obj.SetGroupVersionKind(w.gvk)
	if w.IntN(3) == 0 {
		obj.SetFinalizers([]string{"x/a", "x/b"})
		obj.SetLabels(map[string]string{"app": "web"})
	}
	return obj
}

func (w *world) filled(obj runtime.Object) *unstructured.Unstructured {
	out := obj.(*unstructured.Unstructured)
	w.store(out)
	return out
}

// store changes an object as the server does before it stores it: it adds
// defaults and, for native types, drops empty lists and maps.
func (w *world) store(obj *unstructured.Unstructured) {
	w.spec.fill(obj.Object["spec"])
	if w.declared {
		w.spec.omitEmpty(obj.Object["spec"])
	}
}

// apply is a forced server-side apply.
func (w *world) apply(live, desired *unstructured.Unstructured, manager string) (*unstructured.Unstructured, error) {
	out, err := w.manager.Apply(live.DeepCopy(), desired.DeepCopy(), manager, true)
	if err != nil {
		return nil, err
	}
	return w.filled(out), nil
}

// disturb changes a live object as another client would: by an update, or by a
// server-side apply of a part.
func (w *world) disturb(live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	manager := []string{"kubectl-edit", "controller", "ordapply"}[w.IntN(3)]
	if w.IntN(6) == 0 {
		return w.apply(live, w.object(w.value(w.spec, 3).(map[string]any)), "other")
	}
	next := live.DeepCopy()
	spec, _ := live.Object["spec"].(map[string]any)
	next.Object["spec"] = w.edit(w.spec, spec)
	if finalizers := next.GetFinalizers(); len(finalizers) == 2 && w.IntN(20) == 0 {
		next.SetFinalizers([]string{finalizers[1], finalizers[0]})
	}
	w.store(next)
	out, err := w.manager.Update(live.DeepCopy(), next, manager)
	if err != nil {
		return nil, err
	}
	return out.(*unstructured.Unstructured), nil
}

// enough returns the number of cases of each sort to try.
func enough() int {
	if testing.Short() {
		return 500
	}
	return 10500
}

// counts counts the answers by correctness.
type counts struct{ same, missed, changed, owners, cases int }

// Unchanged is never true for an object that a forced server-side apply would
// change, for any schema and edits. It is not so often false that unchanged
// objects are sent again.
func TestUnchangedIsNeverReportedWhereAnApplyWouldChangeSomething(t *testing.T) {
	for name, declared := range map[string]bool{"custom resources": false, "kinds of Kubernetes": true} { // 10,500 cases each
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var c counts
			for seed := uint64(0); c.cases < enough(); seed++ {
				w := newWorld(t, rand.New(rand.NewPCG(seed, 11)), declared)
				for range 4 {
					w.tryObject(t, seed, &c)
				}
			}
			t.Logf("%d cases: %d changed; of the others %d proven unchanged, %d sent again to be sure; %d proven of which an apply would change the owners alone", c.cases, c.changed, c.same, c.missed, c.owners)
			require.Greater(t, c.changed, c.cases/4)
			require.Greater(t, c.same, c.cases/10)
			require.Greater(t, c.same, 20*c.missed)
			require.Less(t, c.owners, c.cases/200)
		})
	}
}

// tryObject applies a random object, and judges it right away and after edits.
func (w *world) tryObject(t *testing.T, seed uint64, c *counts) {
	t.Helper()
	desired := markedObject(t, w.object(w.value(w.spec, 3).(map[string]any)))
	empty := &unstructured.Unstructured{Object: map[string]any{}}
	empty.SetGroupVersionKind(w.gvk)
	applied, err := w.apply(empty, desired, "ordapply")
	if err != nil {
		return // two items with the same key, caused by a default
	}
	missed := c.missed
	w.judge(t, seed, desired, applied, c)
	require.Equal(t, missed, c.missed, "seed %d: right after the apply: %s and %s", seed, asJSON(t, desired), asJSON(t, applied))
	for range 12 {
		live := applied
		for range 1 + w.IntN(5)/3 {
			next, err := w.disturb(live)
			if err != nil {
				break // an edit that the server rejects
			}
			live = next
		}
		w.judge(t, seed, desired, live, c)
	}
}

func (w *world) judge(t *testing.T, seed uint64, desired, live *unstructured.Unstructured, c *counts) {
	t.Helper()
	after, err := w.apply(live, desired, "ordapply")
	changes := err != nil || !equalFields(after, live)
	owners := !changes && !reflect.DeepEqual(timeless(after), timeless(live))
	proof, seen := applyset.Prove(desired, live, "ordapply"), applyset.Prove(desired, metadataOf(live), "ordapply")
	c.cases++
	switch {
	case changes && proof == applyset.Same:
		require.Fail(t, "drift is called unchanged", "seed %d: applying\n%s\nchanges\n%s\ninto\n%s", seed, asJSON(t, desired), asJSON(t, live), asJSON(t, after))
	case changes && seen == applyset.Same:
		require.Fail(t, "drift is called unchanged by metadata alone", "seed %d: applying\n%s\nchanges\n%s\ninto\n%s", seed, asJSON(t, desired), asJSON(t, live), asJSON(t, after))
	case seen == applyset.Differs && proof == applyset.Same:
		require.Fail(t, "metadata refutes what the body proves", "seed %d: %s and %s", seed, asJSON(t, desired), asJSON(t, live))
	case changes:
		c.changed++
	case owners && proof == applyset.Same:
		c.owners++
	case owners:
	case proof == applyset.Same:
		c.same++
	default:
		c.missed++
	}
}

func markedObject(t *testing.T, obj *unstructured.Unstructured) *unstructured.Unstructured {
	t.Helper()
	print, err := applyset.Fingerprint(obj)
	require.NoError(t, err)
	obj.SetAnnotations(map[string]string{applyset.AppliedAnnotation: print})
	return obj
}

// equalFields compares two objects without managedFields.
func equalFields(a, b *unstructured.Unstructured) bool {
	return reflect.DeepEqual(a.Object["spec"], b.Object["spec"]) && reflect.DeepEqual(ownMetadata(a), ownMetadata(b))
}

func ownMetadata(obj *unstructured.Unstructured) map[string]any {
	out := maps.Clone(obj.Object["metadata"].(map[string]any))
	delete(out, "managedFields")
	return out
}

// timeless returns the managedFields of an object without times.
func timeless(obj *unstructured.Unstructured) []metav1.ManagedFieldsEntry {
	entries := obj.GetManagedFields()
	for i := range entries {
		entries[i].Time = nil
	}
	return entries
}

func metadataOf(obj *unstructured.Unstructured) *unstructured.Unstructured {
	out := maps.Clone(obj.Object)
	delete(out, "spec")
	return &unstructured.Unstructured{Object: out}
}

func asJSON(t *testing.T, obj *unstructured.Unstructured) string {
	t.Helper()
	if obj == nil {
		return "an error"
	}
	text, err := json.Marshal(obj.Object)
	require.NoError(t, err)
	return string(text)
}
