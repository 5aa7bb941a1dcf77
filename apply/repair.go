package apply

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/internal/kubeerr"
)

// Fields of other managers that keep a manifest from being applied are
// claimed first, by a PATCH of managedFields alone. The next apply then
// removes them and writes the manifest's in one request, so that the object
// is valid before and after.

// blocked is the error of a PATCH that other managers' fields keep from being
// applied, with a remedy.
type blocked struct {
	cause    error
	blockers []blocker
}

func (e *blocked) Error() string {
	remedy := "run this again with --force-conflicts, which removes it"
	for _, b := range e.blockers {
		if b.applied {
			remedy = fmt.Sprintf("%q applies it: remove it from the manifest of that manager", b.owner)
		}
	}
	return fmt.Sprintf("%s; the manifest cannot be combined with %s: %s", e.cause, describe(e.blockers), remedy)
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

// mayRemove reports whether all blockers may be removed: those that no
// manager owns, and, with ForceConflicts, those that another manager wrote by
// an update. Fields that another manager applies may not.
func (a Applier) mayRemove(blockers []blocker) bool {
	return !slices.ContainsFunc(blockers, func(b blocker) bool { return b.applied || b.owner != "" && !a.ForceConflicts })
}

// repair looks for what blocks a PATCH that the server rejected. It reports
// whether it handled the error.
func (r *run) repair(i int, refusal error) bool {
	s := &r.steps[i]
	if s.repairTried || !apierrors.IsInvalid(refusal) {
		return false
	}
	s.repairTried = true
	if r.mayUseOldSchema(i, refusal) {
		s.retries-- // the search for blockers does not count as an attempt
	} else {
		s.retries = 0
	}
	r.sendRefused(opRepair, i, refusal)
	return true
}

// unblock claims the fields that block a PATCH and sends it again. In a dry
// run it returns the expected result.
func (a Applier) unblock(ctx context.Context, q request, sent *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	live, err := a.Cluster.Get(ctx, q.kind, sent.GetNamespace(), sent.GetName())
	if kubeerr.IsMissing(err) {
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

// unblocked returns the expected result of removing blockers from a live
// object and applying the manifest, computed without the server.
func unblocked(live, sent *unstructured.Unstructured, blockers []blocker) *unstructured.Unstructured {
	out := live.DeepCopy()
	owned := &fieldpath.Set{}
	for _, entry := range live.GetManagedFields() {
		owned = owned.Union(applyset.FieldsOf(entry))
	}
	for _, b := range blockers {
		removeAt(out.Object, b.path)
	}
	return &unstructured.Unstructured{Object: overlay(out.Object, sent.DeepCopy().Object, owned).(map[string]any)}
}

// removeAt removes one field or item from a value. It works in place except for
// lists; use the returned value.
func removeAt(from any, path fieldpath.Path) any {
	if len(path) == 1 {
		return withoutField(from, path[0])
	}
	changeField(from, path[0], func(inner any) any { return removeAt(inner, path[1:]) })
	return from
}

// overlay merges a manifest's value into a live one. Items of keyed lists
// replace those with the same keys, or are inserted.
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

// isKeyed reports whether fields belong to a keyed list of maps.
func isKeyed(owned *fieldpath.Set) (keyed bool) {
	look := func(at fieldpath.PathElement) { keyed = keyed || at.Key != nil }
	owned.Members.Iterate(look)
	owned.Children.Iterate(look)
	return keyed
}
