// Package diff compares two objects field by field. A field is identified
// by its path, and items of a list by their key. It is pure.
//
//	diff.Between(live, wanted)[0].String()
//	// spec.template.spec.containers[name=web].image: web:1 -> web:2
package diff

import (
	"maps"
	"reflect"
	"slices"

	"github.com/ordapply/ordapply/internal/plain"
)

// Kind is the kind of a change.
type Kind string

// Values of Kind.
const (
	Added     Kind = "added"     // with everything below it
	Removed   Kind = "removed"   // with everything below it
	Changed   Kind = "changed"   // a scalar, a list of scalars, or the type
	Reordered Kind = "reordered" // a list whose items are in another order; Before and After list their keys
)

// Change is a field that differs.
type Change struct {
	// Path is the path of the field: `data["app.conf"]`,
	// `containers[name=web].image`, `ports[0]`.
	Path   string
	Kind   Kind
	Before any // nil if it was added
	After  any // nil if it was removed
}

// Between returns the changes from before to after, sorted by path; none if and
// only if they are deeply equal. It modifies neither, and changes share their
// values.
func Between(before, after map[string]any) []Change {
	var d differ
	d.maps("", before, after)
	return d.changes
}

type differ struct{ changes []Change }

func (d *differ) add(path string, kind Kind, before, after any) {
	d.changes = append(d.changes, Change{path, kind, before, after})
}

func (d *differ) maps(path string, before, after map[string]any) {
	keys := slices.AppendSeq(slices.Collect(maps.Keys(before)), maps.Keys(after))
	slices.Sort(keys)
	for _, key := range slices.Compact(keys) {
		b, was := before[key]
		a, is := after[key]
		switch below := plain.Field(path, key); {
		case !was:
			d.add(below, Added, nil, a)
		case !is:
			d.add(below, Removed, b, nil)
		default:
			d.values(below, b, a)
		}
	}
}

func (d *differ) values(path string, before, after any) {
	if reflect.DeepEqual(before, after) {
		return
	}
	switch b := before.(type) {
	case map[string]any:
		if a, ok := after.(map[string]any); ok && a != nil && b != nil {
			d.maps(path, b, a)
			return
		}
	case []any:
		if a, ok := after.([]any); ok && ofMaps(b) && ofMaps(a) {
			d.lists(path, b, a)
			return
		}
	}
	d.add(path, Changed, before, after)
}

// lists compares two lists of maps: by key if all items have one, else by
// position.
func (d *differ) lists(path string, before, after []any) {
	keys := keysOf(before, after)
	if keys == nil {
		d.byPosition(path, before, after)
		return
	}
	was, is := named(before, keys), named(after, keys)
	for _, name := range was.order {
		if item, stays := is.items[name]; stays {
			d.values(path+"["+name+"]", was.items[name], item)
		} else {
			d.add(path+"["+name+"]", Removed, was.items[name], nil)
		}
	}
	for _, name := range is.order {
		if _, old := was.items[name]; !old {
			d.add(path+"["+name+"]", Added, nil, is.items[name])
		}
	}
	if !inSequence(was, is) {
		d.add(path, Reordered, anyOf(was.order), anyOf(is.order))
	}
}

func (d *differ) byPosition(path string, before, after []any) {
	for i := range max(len(before), len(after)) {
		below := plain.Item(path, i)
		switch {
		case i >= len(before):
			d.add(below, Added, nil, after[i])
		case i >= len(after):
			d.add(below, Removed, before[i], nil)
		default:
			d.values(below, before[i], after[i])
		}
	}
}
