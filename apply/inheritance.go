package apply

import (
	"context"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/kube"
)

// A run migrates the fields that previous managers own on an object and then
// applies again, so that fields that the manifest no longer has are removed
// or get their default. A dry run cannot migrate; it computes the result
// here.

// withoutPreviousFields returns the object of a dry run without the fields that
// only previous managers own on the live object. A dry run of its creation shows
// which of them have a default.
func (r *previewRun) withoutPreviousFields(ctx context.Context, kind kube.Kind, sent, merged, live *unstructured.Unstructured) *unstructured.Unstructured {
	if live == nil || !r.applier.hasPreviousManagerFields(live) && !r.applier.hasPreviousManagerFields(merged) {
		return merged
	}
	predecessors := append(r.applier.previousManagersOf(live), r.applier.previousManagersOf(merged)...) // force took the label from some of them
	in := kube.InheritFields(merged, predecessors, append(applyset.MembershipManagers(live), applyset.MembershipManagers(merged)...), r.applier.Manager)
	own := &fieldpath.Set{}
	for _, entry := range merged.GetManagedFields() {
		if entry.Manager == r.applier.Manager && entry.Operation == metav1.ManagedFieldsOperationApply {
			own = own.Union(applyset.FieldsOf(entry))
		}
	}
	out := merged.DeepCopy()
	var fresh any
	if anew := r.previewRecreate(ctx, kind, sent, live); anew != nil {
		fresh = anew.Object
	}
	dropFields(out.Object, fresh, in.Migrated, in.Kept.Union(own))
	return out
}

// dropFields removes from a value the fields that are in remove and not in keep, or
// resets them to their value in fresh. It works in place except for lists;
// use the returned value.
func dropFields(from, fresh any, remove, keep *fieldpath.Set) any {
	var places []fieldpath.PathElement
	remove.Members.Iterate(func(at fieldpath.PathElement) { places = append(places, at) })
	remove.Children.Iterate(func(at fieldpath.PathElement) { places = append(places, at) })
	for _, at := range places {
		keptBelow, some := keep.Children.Get(at)
		if !some {
			keptBelow = &fieldpath.Set{}
		}
		usual, has := fieldAt(fresh, at)
		below, deeper := remove.Children.Get(at)
		switch gone := remove.Members.Has(at) && !keep.Members.Has(at) && !some; {
		case gone && !has:
			from = withoutField(from, at)
		case gone && !deeper:
			changeField(from, at, func(any) any { return usual })
		case deeper:
			changeField(from, at, func(inner any) any { return dropFields(inner, usual, below, keptBelow) })
		}
	}
	return from
}

// fieldAt returns one field or item of a value.
func fieldAt(in any, at fieldpath.PathElement) (any, bool) {
	switch in := in.(type) {
	case map[string]any:
		if at.FieldName != nil {
			field, has := in[*at.FieldName]
			return field, has
		}
	case []any:
		if i := slices.IndexFunc(in, func(item any) bool { return isAt(item, at) }); i >= 0 {
			return in[i], true
		}
	}
	return nil, false
}

// withoutField returns a value without one of its fields or items.
func withoutField(from any, at fieldpath.PathElement) any {
	switch from := from.(type) {
	case map[string]any:
		if at.FieldName != nil {
			delete(from, *at.FieldName)
		}
	case []any:
		return slices.DeleteFunc(from, func(item any) bool { return isAt(item, at) })
	}
	return from
}

func changeField(in any, at fieldpath.PathElement, change func(any) any) {
	switch in := in.(type) {
	case map[string]any:
		if at.FieldName != nil && in[*at.FieldName] != nil {
			in[*at.FieldName] = change(in[*at.FieldName])
		}
	case []any:
		for i := range in {
			if isAt(in[i], at) {
				in[i] = change(in[i])
			}
		}
	}
}

// isAt reports whether an item of a list is the one that a path element names
// by keys or by value.
func isAt(item any, at fieldpath.PathElement) bool {
	switch {
	case at.Value != nil:
		return value.Equals(value.NewValueInterface(item), *at.Value)
	case at.Key != nil:
		fields, ok := item.(map[string]any)
		return ok && !slices.ContainsFunc(*at.Key, func(key value.Field) bool {
			return !value.Equals(value.NewValueInterface(fields[key.Name]), key.Value)
		})
	}
	return false
}
