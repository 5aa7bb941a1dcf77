// Package fielddiff tells in which fields two objects differ, as people name
// fields: by path, and items of a list by what names them. It is pure.
//
//	fielddiff.Between(live, wanted)[0].String()
//	// spec.template.spec.containers[name=web].image: web:1 -> web:2
package fielddiff

import (
	"maps"
	"reflect"
	"slices"
)

// Kind says how a field differs.
type Kind string

// The kinds of changes.
const (
	Added     Kind = "added"     // with all that is below it
	Removed   Kind = "removed"   // with all that was below it
	Changed   Kind = "changed"   // a scalar, a list of scalars, or one type became another
	Reordered Kind = "reordered" // a list whose items stand in another order; Before and After name them
)

// Change is one field that differs.
type Change struct {
	// Path leads to the field: `data["app.conf"]`, `containers[name=web].image`,
	// `ports[0]`.
	Path   string
	Kind   Kind
	Before any // nil when it was added
	After  any // nil when it was removed
}

// Between lists how after differs from before, by path; nothing exactly when
// the two are deeply equal. Neither is changed, and changes share their values.
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
		switch below := join(path, key); {
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

// lists compares two lists of maps: item by item of the same name where all
// items have one, else by position.
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
		below := index(path, i)
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
