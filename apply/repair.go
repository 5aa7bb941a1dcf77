package apply

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ordapply/ordapply/applyset"
)

// Fields of other managers that keep a manifest from being applied become ours
// first, by a PATCH of managedFields alone. The next apply then removes them and
// writes the manifest's at once, so that the object is valid before and after.

// blocked says why a PATCH is refused again and again, and what to do.
type blocked struct {
	cause    error
	blockers []blocker
}

func (e *blocked) Error() string {
	remedy := "run this again with --force-conflicts, which removes it"
	for _, b := range e.blockers {
		if b.applied {
			remedy = fmt.Sprintf("%q applies it: remove it from what that manager applies", b.owner)
		}
	}
	return fmt.Sprintf("%s; the manifest cannot be applied beside %s: %s", e.cause, describe(e.blockers), remedy)
}

func (e *blocked) Unwrap() error { return e.cause }

// describe lists blockers with their owners.
func describe(blockers []blocker) string {
	var out []string
	for _, b := range blockers {
		text := strings.TrimPrefix(b.path.String(), ".")
		if b.owner != "" {
			text += fmt.Sprintf(" of field manager %q", b.owner)
		}
		out = append(out, text)
	}
	return strings.Join(out, ", ")
}

// mayRemove reports whether all of these may be removed: what no manager applies,
// and what another manager wrote only where conflicts are forced.
func (a Applier) mayRemove(blockers []blocker) bool {
	return !slices.ContainsFunc(blockers, func(b blocker) bool { return b.applied || b.owner != "" && !a.ForceConflicts })
}

// repair looks for what blocks a PATCH that the server refused. It reports
// whether it took care of the trouble.
func (r *run) repair(i int, refusal error) bool {
	s := &r.steps[i]
	if s.repaired || !apierrors.IsInvalid(refusal) {
		return false
	}
	s.repaired = true
	if r.meetsOldSchema(i, refusal) {
		s.retries-- // looking for what blocks it is no further attempt
	} else {
		s.retries = 0
	}
	r.sendRefused(opRepair, i, refusal)
	return true
}

// unblock makes what blocks a PATCH ours and sends it again. A dry run says what
// would come of it.
func (a Applier) unblock(ctx context.Context, q request, sent *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	live, err := a.Cluster.Get(ctx, q.kind, sent.GetNamespace(), sent.GetName())
	if missing(err) {
		return nil, q.refusal
	}
	if err != nil {
		return nil, err
	}
	blockers := blockersOf(live, sent, q.refusal, a.Manager)
	switch {
	case len(blockers) == 0:
		return nil, q.refusal
	case !a.mayRemove(blockers):
		return nil, &blocked{q.refusal, blockers}
	case q.options.DryRun:
		return unblocked(live, sent, blockers), nil
	}
	fields := &fieldpath.Set{}
	for _, b := range blockers {
		fields.Insert(b.path)
	}
	claimed, err := a.Cluster.Claim(ctx, q.kind, live, fields, a.Manager)
	if err != nil {
		return nil, err
	}
	sent.SetUID(claimed.GetUID())
	sent.SetResourceVersion(claimed.GetResourceVersion())
	return a.patch(ctx, q.kind, sent, q.options)
}

// Claim implements Cluster.
func (k *Kubernetes) Claim(ctx context.Context, kind Kind, live *unstructured.Unstructured, fields *fieldpath.Set, manager string) (*unstructured.Unstructured, error) {
	entries, err := claimed(live.GetManagedFields(), fields, manager)
	if err != nil {
		return nil, err
	}
	patch, err := json.Marshal([]map[string]any{
		{"op": "replace", "path": "/metadata/managedFields", "value": entries},
		{"op": "replace", "path": "/metadata/resourceVersion", "value": live.GetResourceVersion()},
	})
	if err != nil {
		return nil, err
	}
	return k.patchJSON(ctx, kind, live, patch, manager)
}

// claimed are entries of managedFields in which manager, and no writer of updates,
// owns some fields and all that is below them.
func claimed(entries []metav1.ManagedFieldsEntry, fields *fieldpath.Set, manager string) ([]metav1.ManagedFieldsEntry, error) {
	var out []metav1.ManagedFieldsEntry
	for _, entry := range entries {
		set := applyset.FieldsOf(entry)
		switch {
		case entry.Manager == manager && entry.Operation == metav1.ManagedFieldsOperationApply && entry.Subresource == "":
			set = set.Union(fields)
		case entry.Operation == metav1.ManagedFieldsOperationUpdate && entry.Subresource == "":
			if set = set.RecursiveDifference(fields); set.Empty() {
				continue
			}
		}
		text, err := set.ToJSON()
		if err != nil {
			return nil, fmt.Errorf("write managedFields: %w", err)
		}
		entry.FieldsV1 = metav1.NewFieldsV1(string(text))
		out = append(out, entry)
	}
	return out, nil
}

// unblocked is what comes of a live object when blockers are removed and the
// manifest is applied, as far as that is known without the server.
func unblocked(live, sent *unstructured.Unstructured, blockers []blocker) *unstructured.Unstructured {
	out := live.DeepCopy()
	owned := &fieldpath.Set{}
	for _, entry := range live.GetManagedFields() {
		owned = owned.Union(applyset.FieldsOf(entry))
	}
	for _, b := range blockers {
		remove(out.Object, b.path)
	}
	return &unstructured.Unstructured{Object: overlay(out.Object, sent.DeepCopy().Object, owned).(map[string]any)}
}

// remove takes one field or item out of a value, in place but for a list, which
// is returned.
func remove(from any, path fieldpath.Path) any {
	if len(path) == 1 {
		return withoutField(from, path[0])
	}
	changeField(from, path[0], func(inner any) any { return remove(inner, path[1:]) })
	return from
}

// overlay writes a value over a live one. Items of keyed lists go over those of
// the same keys, or to the end.
func overlay(live, sent any, owned *fieldpath.Set) any {
	switch value := sent.(type) {
	case map[string]any:
		fields, ok := live.(map[string]any)
		if !ok {
			return sent
		}
		for name, v := range value {
			fields[name] = overlay(fields[name], v, owned.WithPrefix(fieldpath.PathElement{FieldName: &name}))
		}
		return fields
	case []any:
		items, ok := live.([]any)
		if !ok || !isKeyed(owned) {
			return sent
		}
		for i, wanted := range value {
			at := slices.IndexFunc(items, func(item any) bool {
				element, known := elementOf(item, owned)
				return known && fits(wanted, element)
			})
			if at < 0 {
				items = slices.Insert(items, min(i, len(items)), wanted)
				continue
			}
			element, _ := elementOf(items[at], owned)
			items[at] = overlay(items[at], wanted, owned.WithPrefix(element))
		}
		return items
	}
	return sent
}

// isKeyed reports whether fields are those of a list of maps with keys.
func isKeyed(owned *fieldpath.Set) (keyed bool) {
	look := func(at fieldpath.PathElement) { keyed = keyed || at.Key != nil }
	owned.Members.Iterate(look)
	owned.Children.Iterate(look)
	return keyed
}
