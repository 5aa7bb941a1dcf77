package apply

import (
	"regexp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/internal/kubeerr"
)

// A server-side apply does not remove fields of other managers. Where such a
// field and the manifest exclude each other, as the old and the new number of
// a Service port of the same name, the server rejects the merged object, and
// force does not help. The blocking fields are found by the paths in the
// server's error.

// blocker is a field or list item of a live object that the manifest does not
// have and that keeps the manifest from being applied.
type blocker struct {
	path    fieldpath.Path
	owner   string // the field manager; "" for a default, and for fields that this manager owns
	applied bool   // owner applies it, and would bring it back
}

// blockersOf finds the fields of a live object because of which the server
// rejected a PATCH.
func blockersOf(live, sent *unstructured.Unstructured, refusal error, manager string) []blocker {
	status, ok := kubeerr.AsStatus(refusal)
	if !ok || status.Details == nil {
		return nil
	}
	b := blockerSearch{ours: &fieldpath.Set{}}
	owned := &fieldpath.Set{}
	for _, entry := range live.GetManagedFields() {
		owned = owned.Union(applyset.FieldsOf(entry))
		if entry.Manager == manager && entry.Operation == metav1.ManagedFieldsOperationApply {
			b.ours = applyset.FieldsOf(entry)
		}
	}
	for _, cause := range status.Details.Causes {
		b.cause = cause
		b.walk(segments(cause.Field), live.Object, sent.Object, nil, owned)
	}
	var found []blocker
	for _, path := range b.found {
		found = append(found, ownerOf(live, path, manager))
	}
	return found
}

// ownerOf finds the manager that owns a field or something below it.
func ownerOf(live *unstructured.Unstructured, path fieldpath.Path, manager string) blocker {
	b := blocker{path: path}
	for _, entry := range live.GetManagedFields() {
		applies := entry.Operation == metav1.ManagedFieldsOperationApply
		if applies && entry.Manager == manager || b.applied || !ownsAt(applyset.FieldsOf(entry), path) {
			continue
		}
		b.owner, b.applied = entry.Manager, applies || entry.Subresource != ""
	}
	return b
}

func ownsAt(set *fieldpath.Set, path fieldpath.Path) bool {
	if set.Has(path) {
		return true
	}
	for _, at := range path {
		set = set.WithPrefix(at)
	}
	return !set.Empty()
}

// segments splits a path of the server: spec.ports[1].name is "spec",
// "ports", "[]" and "name". Indexes are dropped: they refer to the merged
// object that the server rejected.
func segments(path string) []string {
	path = regexp.MustCompile(`\[\d+\]`).ReplaceAllString(path, ".[]")
	return strings.Split(path, ".")
}

type blockerSearch struct {
	ours  *fieldpath.Set
	cause metav1.StatusCause
	found []fieldpath.Path
}

// walk follows a path through the live object and the manifest to the fields
// that exclude each other.
func (b *blockerSearch) walk(path []string, live, sent any, at fieldpath.Path, owned *fieldpath.Set) {
	if path[0] == "[]" {
		b.items(path[1:], live, sent, at, owned)
		return
	}
	is, _ := live.(map[string]any)
	wanted, _ := sent.(map[string]any)
	if is == nil || wanted == nil {
		return
	}
	if len(path) == 1 {
		b.field(path[0], is, wanted, at, owned)
		return
	}
	element := fieldpath.PathElement{FieldName: &path[0]}
	b.walk(path[1:], is[path[0]], wanted[path[0]], append(slices.Clone(at), element), owned.WithPrefix(element))
}

// field adds the field that the server named if the manifest does not have
// it, otherwise the sibling fields that exclude it.
func (b *blockerSearch) field(name string, live, sent map[string]any, at fieldpath.Path, owned *fieldpath.Set) {
	_, wanted := sent[name]
	if _, is := live[name]; is && !wanted {
		b.add(at, fieldpath.PathElement{FieldName: &name})
	}
	exclusive := strings.Contains(b.cause.Message, "may not specify more than 1") || strings.Contains(b.cause.Message, "may not be specified when")
	if !wanted || !exclusive {
		return
	}
	for other := range live {
		element := fieldpath.PathElement{FieldName: &other}
		if _, ours := sent[other]; !ours && ownsAt(owned, fieldpath.Path{element}) {
			b.add(at, element)
		}
	}
}

// items follows a path into the items of a keyed list that are both in the
// live object and in the manifest. Where the server reports a duplicate, it
// adds the items of the live list only, whose value at the path equals that
// of an item of the manifest.
func (b *blockerSearch) items(path []string, live, sent any, at fieldpath.Path, owned *fieldpath.Set) {
	is, _ := live.([]any)
	wanted, _ := sent.([]any)
	for _, item := range is {
		element, known := elementOf(item, owned)
		if !known {
			continue
		}
		here := append(slices.Clone(at), element)
		index := slices.IndexFunc(wanted, func(w any) bool { return fits(w, element) })
		switch {
		case len(path) == 1 && b.cause.Type == metav1.CauseTypeFieldValueDuplicate:
			another := index < 0 || len(*element.Key) > 1 && !ownsAt(b.ours, here) // a key that the manifest leaves out has its default
			if another && slices.ContainsFunc(wanted, func(w any) bool { return sharesValue(w, item, path[0]) }) {
				b.add(at, element)
			}
		case index >= 0 && len(path) > 0:
			b.walk(path, item, wanted[index], here, owned.WithPrefix(element))
		}
	}
}

func (b *blockerSearch) add(at fieldpath.Path, element fieldpath.PathElement) {
	path := append(slices.Clone(at), element)
	if !slices.ContainsFunc(b.found, path.Equals) {
		b.found = append(b.found, path)
	}
}

// elementOf returns the path element of a keyed list's item as managedFields
// has it.
func elementOf(item any, owned *fieldpath.Set) (found fieldpath.PathElement, ok bool) {
	look := func(at fieldpath.PathElement) {
		if at.Key != nil && isAt(item, at) {
			found, ok = at, true
		}
	}
	owned.Members.Iterate(look)
	owned.Children.Iterate(look)
	return found, ok
}

// fits reports whether an item of a manifest is the one that a path element
// names. A key that the item leaves out is taken to have its default.
func fits(item any, at fieldpath.PathElement) bool {
	fields, ok := item.(map[string]any)
	return ok && !slices.ContainsFunc(*at.Key, func(key value.Field) bool {
		has, given := fields[key.Name]
		return given && !value.Equals(value.NewValueInterface(has), key.Value)
	})
}

func sharesValue(a, b any, field string) bool {
	one, _ := a.(map[string]any)
	other, _ := b.(map[string]any)
	return one[field] != nil && other[field] != nil && value.Equals(value.NewValueInterface(one[field]), value.NewValueInterface(other[field]))
}
