package apply

import (
	"context"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	"github.com/ordapply/ordapply/applyset"
)

// A run takes over what predecessors own on an object and applies once more, so
// that what the manifest no longer holds goes, or gets its default. A dry run
// cannot take over; what would become of those fields is found out here.

// withoutInheritance is a rehearsed object without the fields that only
// predecessors own on the live one. What it would be if it were made anew tells
// which of them have a default.
func (r *rehearsal) withoutInheritance(ctx context.Context, kind Kind, sent, merged, live *unstructured.Unstructured) *unstructured.Unstructured {
	if live == nil || !r.a.inherits(live) && !r.a.inherits(merged) {
		return merged
	}
	predecessors := append(r.a.bequeathing(live), r.a.bequeathing(merged)...) // force took the label from some
	in := inherit(merged, predecessors, append(applyset.Claimants(live), applyset.Claimants(merged)...), r.a.Manager)
	own := &fieldpath.Set{}
	for _, entry := range merged.GetManagedFields() {
		if entry.Manager == r.a.Manager && entry.Operation == metav1.ManagedFieldsOperationApply {
			own = own.Union(applyset.FieldsOf(entry))
		}
	}
	out := merged.DeepCopy()
	var fresh any
	if anew := r.anew(ctx, kind, sent, live); anew != nil {
		fresh = anew.Object
	}
	drop(out.Object, fresh, in.Taken, in.Kept.Union(own))
	return out
}

// drop removes from a value what is in one set and not in the other, or gives it
// the value that it has in fresh. It works in place but for a list, which is
// returned.
func drop(from, fresh any, remove, keep *fieldpath.Set) any {
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
			changeField(from, at, func(inner any) any { return drop(inner, usual, below, keptBelow) })
		}
	}
	return from
}

// fieldAt is one field or item of a value.
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

// withoutField is a value without one of its fields or items.
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

// isAt tells whether an item of a list is the one that a path names, by keys or
// by value.
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
