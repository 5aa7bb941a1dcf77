package write

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/internal/fields"
	"github.com/ordapply/ordapply/internal/kube/fault"
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

// FindBlockers finds the fields of a live object because of which the server rejected owner's
// PATCH; nil when there are none.
func FindBlockers(live, sent *unstructured.Unstructured, refusal error, owner Owner) *Blocked {
	status, ok := fault.AsStatus(refusal)
	if !ok || status.Details == nil {
		return nil
	}
	ours := func(entry metav1.ManagedFieldsEntry) bool {
		return entry.Manager == owner.Manager && entry.Operation == metav1.ManagedFieldsOperationApply
	}
	b := blockerSearch{ours: OwnedBy(live, ours)}
	owned := OwnedByAny(live)
	for _, cause := range status.Details.Causes {
		b.cause = cause
		b.walk(segments(cause.Field), live.Object, sent.Object, nil, owned)
	}
	if len(b.found) == 0 {
		return nil
	}
	found := &Blocked{cause: refusal}
	for _, path := range b.found {
		found.blockers = append(found.blockers, ownerOf(live, path, owner.Manager))
	}
	return found
}

// ownerOf finds the manager that owns a field or something below it.
func ownerOf(live *unstructured.Unstructured, path fieldpath.Path, manager string) blocker {
	b := blocker{path: path}
	for _, entry := range live.GetManagedFields() {
		applies := entry.Operation == metav1.ManagedFieldsOperationApply
		if applies && entry.Manager == manager || b.applied || !Owns(applyset.FieldsOf(entry), path) {
			continue
		}
		b.owner, b.applied = entry.Manager, applies || entry.Subresource != ""
	}
	return b
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
		if _, ours := sent[other]; !ours && Owns(owned, fieldpath.Path{element}) {
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
		element, known := ElementOf(item, owned)
		if !known {
			continue
		}
		here := append(slices.Clone(at), element)
		index := slices.IndexFunc(wanted, func(w any) bool { return fields.MayBeItem(w, element) })
		switch {
		case len(path) == 1 && b.cause.Type == metav1.CauseTypeFieldValueDuplicate:
			another := index < 0 || len(*element.Key) > 1 && !Owns(b.ours, here) // a key that the manifest leaves out has its default
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

func sharesValue(a, b any, field string) bool {
	one, _ := a.(map[string]any)
	other, _ := b.(map[string]any)
	return one[field] != nil && other[field] != nil && value.Equals(value.NewValueInterface(one[field]), value.NewValueInterface(other[field]))
}

// Blocked is the error of a PATCH that other managers' fields keep from being
// applied, with a remedy.
type Blocked struct {
	cause    error
	blockers []blocker
}

// Error returns the API server's error with the blocking fields and the remedy.
func (e *Blocked) Error() string {
	remedy := "run this again with --force-conflicts, which removes it"
	for _, b := range e.blockers {
		if b.applied {
			remedy = fmt.Sprintf("%q applies it: remove it from the manifest of that manager", b.owner)
		}
	}
	return fmt.Sprintf("%s; the manifest cannot be combined with %s: %s", e.cause, e.Fields(), remedy)
}

// Unwrap returns the API server's error.
func (e *Blocked) Unwrap() error { return e.cause }

// Fields lists the blocking fields with their owners.
func (e *Blocked) Fields() string {
	var out []string
	for _, b := range e.blockers {
		text := fields.Text(b.path)
		if b.owner != "" {
			text += fmt.Sprintf(" of field manager %q", b.owner)
		}
		out = append(out, text)
	}
	return strings.Join(out, ", ")
}

// Removable reports whether all blockers may be removed: fields that no manager owns, and
// fields that a manager with force wrote by an update. Fields that another manager applies may
// not.
func (e *Blocked) Removable(force func(manager string) bool) bool {
	return !slices.ContainsFunc(e.blockers, func(b blocker) bool { return b.applied || b.owner != "" && !force(b.owner) })
}

// Paths returns the paths of the blocking fields.
func (e *Blocked) Paths() *fieldpath.Set {
	paths := &fieldpath.Set{}
	for _, b := range e.blockers {
		paths.Insert(b.path)
	}
	return paths
}

// Removed returns the expected result of removing the blockers from a live
// object and applying the manifest, computed without the server.
func (e *Blocked) Removed(live, sent *unstructured.Unstructured) *unstructured.Unstructured {
	out := live.DeepCopy()
	for _, b := range e.blockers {
		RemoveAt(out.Object, b.path)
	}
	return &unstructured.Unstructured{Object: Overlay(out.Object, sent.DeepCopy().Object, OwnedByAny(live)).(map[string]any)}
}
