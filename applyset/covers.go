package applyset

import (
	"slices"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ordapply/ordapply/internal/fields"
)

// ownedValue is a position in an object with the sets of fields that its managers own
// below it, and its live value. An empty set means a value that is owned as a whole.
type ownedValue struct {
	ours     *fieldpath.Set
	others   []*fieldpath.Set // of managers that own something there
	live     any
	exists   bool          // the live object has a value there, which may be null
	seen     bool          // the live value was read
	declared bool          // the schema is that of a native kind: no free-form fields, no maps of structs
	ignored  []fields.Path // below it: fields that no fingerprint covers, so that their values are compared
}

// at returns the position of an element below; false if we own nothing there.
func (p ownedValue) at(element fieldpath.PathElement) (ownedValue, bool) {
	ours, ok := below(p.ours, element)
	next := ownedValue{ours: ours, seen: p.seen, declared: p.declared}
	for _, other := range p.others {
		if set, has := below(other, element); has {
			next.others = append(next.others, set)
		}
	}
	return next, ok
}

// below returns the fields of a set below an element; has is false if neither the element
// nor anything below it is in the set.
func below(set *fieldpath.Set, element fieldpath.PathElement) (found *fieldpath.Set, has bool) {
	if found, has = set.Children.Get(element); has {
		return found, true
	}
	return &fieldpath.Set{}, set.Members.Has(element)
}

// elements returns the elements that are directly in a set, or have something below them.
func elements(set *fieldpath.Set) []fieldpath.PathElement {
	all := make([]fieldpath.PathElement, 0, set.Members.Size())
	set.Members.Iterate(func(at fieldpath.PathElement) { all = append(all, at) })
	set.Children.Iterate(func(at fieldpath.PathElement) {
		if !set.Members.Has(at) {
			all = append(all, at)
		}
	})
	return all
}

// field returns the position of a field of a map.
func (p ownedValue) field(name string) (ownedValue, bool) {
	next, ok := p.at(fieldpath.PathElement{FieldName: &name})
	next.ignore(fields.BelowField(p.ignored, name))
	fields, _ := p.live.(map[string]any)
	next.live, next.exists = fields[name]
	return next, ok
}

// ignore records the values outside the fingerprint: all of them, or the values at the
// paths.
func (p *ownedValue) ignore(paths []fields.Path, whole bool) {
	p.ignored, p.declared = paths, p.declared && !whole
}

// prove compares a value with the owners and the live value.
func (p ownedValue) prove(value any) Proof {
	if p.ours.Empty() {
		return p.proveWhole(value)
	}
	switch value := value.(type) {
	case map[string]any:
		if len(value) > 0 {
			return p.proveFields(value, nil)
		}
	case []any:
		if len(value) > 0 {
			return p.proveItems(value)
		}
	}
	return Differs
}

// proveWhole compares a value below which we own nothing. Declared fields are then
// owned as a whole. Otherwise it may be a map entry that is ours while none of
// its content is.
func (p ownedValue) proveWhole(value any) Proof {
	switch {
	case p.declared && len(p.ignored) == 0:
		return Same
	case slices.ContainsFunc(p.others, func(set *fieldpath.Set) bool { return !set.Empty() }) && !isEmpty(value):
		return Differs
	case !p.seen:
		return NeedsBody
	case (p.exists || value == nil) && contains(p.live, value):
		return Same
	}
	return Differs
}

// proveFields compares a map field by field. The PATCH would remove any other
// field that is ours. If adjust is not nil it may change the position of a
// field.
func (p ownedValue) proveFields(value map[string]any, adjust func(key string, below ownedValue) ownedValue) Proof {
	proof := Same
	if _, isMap := p.live.(map[string]any); p.seen && !isMap {
		return Differs
	} else if !p.seen && !hasContent(value) {
		proof = NeedsBody // the server does not store empty lists: the map may be gone
	}
	for _, at := range elements(p.ours) {
		if at.FieldName == nil {
			return Differs
		}
		if _, has := value[*at.FieldName]; !has {
			return Differs
		}
	}
	for key, v := range value {
		below, ok := p.field(key)
		if adjust != nil {
			below = adjust(key, below)
		}
		if ok {
			proof = min(proof, below.prove(v))
		} else {
			proof = min(proof, below.proveUnowned(v))
		}
		if proof == Differs {
			return Differs
		}
	}
	return proof
}

// proveUnowned compares a value of which we own nothing: an empty list whose
// items would have their own owners, or a map with only such lists.
func (p ownedValue) proveUnowned(value any) Proof {
	if fields, isMap := value.(map[string]any); isMap && len(fields) > 0 {
		return p.proveFields(fields, nil)
	}
	items, isList := value.([]any)
	switch {
	case !isList || len(items) > 0:
		return Differs
	case slices.ContainsFunc(p.others, (*fieldpath.Set).Empty):
		return Differs // owned as a whole, and no longer by us
	case p.declared:
		return Same
	case !p.seen:
		return NeedsBody
	case contains(p.live, value):
		return Same
	}
	return Differs
}

// proveItems compares a list whose items have owners: a keyed list of maps, or
// a set. Items of other managers may be between ours; ours must be in the order
// of the PATCH.
func (p ownedValue) proveItems(items []any) Proof {
	proof, last := Same, -1
	owned := elements(p.ours)
	for _, item := range items {
		element, ok := p.elementOf(item, owned)
		if !ok {
			return Differs
		}
		below, _ := p.at(element)
		below.ignore(fields.BelowItem(p.ignored, item))
		if p.seen {
			index := p.indexOf(element)
			if index <= last {
				return Differs
			}
			last = index
			below.live, below.exists = p.live.([]any)[index], true
		} else if len(items) > 1 {
			proof = NeedsBody
		}
		if proof = min(proof, below.prove(item)); proof == Differs {
			return Differs
		}
	}
	if len(owned) > len(items) {
		return Differs
	}
	return proof
}

// indexOf returns the index of an element's live item; -1 if there is none or
// more than one. A key that was applied as null has its default there, or none.
func (p ownedValue) indexOf(element fieldpath.PathElement) int {
	items, _ := p.live.([]any)
	found := -1
	for i, item := range items {
		if !isAt(element, item, func(_ string, want any, _ bool) bool { return want == nil }) {
			continue
		}
		if found >= 0 {
			return -1
		}
		found = i
	}
	return found
}

// elementOf returns the element for an item. A key that the item does not have was
// defaulted, so its field has no owner. If more than one element matches, ok is
// false.
func (p ownedValue) elementOf(item any, owned []fieldpath.PathElement) (found fieldpath.PathElement, ok bool) {
	count := 0
	for _, element := range owned {
		isDefaulted := func(key string, _ any, given bool) bool {
			if given {
				return false
			}
			set, _ := p.ours.Children.Get(element)
			if set == nil {
				return true
			}
			_, isOwned := below(set, fieldpath.PathElement{FieldName: &key})
			return !isOwned
		}
		if isAt(element, item, isDefaulted) {
			found = element
			count++
		}
	}
	return found, count == 1
}

// isAt reports whether an item has the value of an element, or its keys, except keys that
// need not be equal. It has at least one of the keys, or a key is null.
func isAt(element fieldpath.PathElement, item any, isOpen func(key string, want any, given bool) bool) bool {
	if element.Value != nil {
		return equal((*element.Value).Unstructured(), item)
	}
	of, isMap := item.(map[string]any)
	if !isMap || element.Key == nil {
		return false
	}
	known := false
	for _, key := range *element.Key {
		has, given := of[key.Name]
		want := key.Value.Unstructured()
		if !isOpen(key.Name, want, given) && (!given || !equal(want, has)) {
			return false
		}
		known = known || given || want == nil
	}
	return known
}
