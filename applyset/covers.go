package applyset

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/ordapply/ordapply/internal/fields"
)

// ownedValue is a position in an object with its owners, in the format of
// managedFields, and its live value.
type ownedValue struct {
	ours     map[string]any
	others   []map[string]any // of managers that own something there
	live     any
	exists   bool          // the live object has a value there, which may be null
	seen     bool          // the live value was read
	declared bool          // the schema is that of a native kind: no free-form fields, no maps of structs
	ignored  []fields.Path // below it: fields that no fingerprint covers, so that their values are compared
}

// at returns the position of an entry below; ok is false if we own nothing
// there.
func (p ownedValue) at(key string) (ownedValue, bool) {
	ours, ok := p.ours[key].(map[string]any)
	next := ownedValue{ours: ours, seen: p.seen, declared: p.declared}
	for _, other := range p.others {
		if set, has := other[key].(map[string]any); has {
			next.others = append(next.others, set)
		}
	}
	return next, ok
}

// field returns the position of a field of a map.
func (p ownedValue) field(name string) (ownedValue, bool) {
	next, ok := p.at("f:" + name)
	next.ignore(fields.BelowField(p.ignored, name))
	fields, _ := p.live.(map[string]any)
	next.live, next.exists = fields[name]
	return next, ok
}

// ignore records which of the values are not in the fingerprint: all of them, or those
// at the paths.
func (p *ownedValue) ignore(paths []fields.Path, whole bool) {
	p.ignored, p.declared = paths, p.declared && !whole
}

// prove compares a value with the owners and the live value.
func (p ownedValue) prove(value any) Proof {
	if len(p.ours) == 0 {
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
	if onlySelf(p.ours) {
		return p.proveWhole(value)
	}
	return Differs
}

// proveWhole compares a value whose entry is `{}`. Declared fields are then
// owned as a whole. Otherwise it may be a map entry that is ours while none of
// its content is.
func (p ownedValue) proveWhole(value any) Proof {
	switch {
	case p.declared && len(p.ignored) == 0:
		return Same
	case slices.ContainsFunc(p.others, func(set map[string]any) bool { return len(set) > 0 }) && !isEmpty(value):
		return Differs
	case !p.seen:
		return NeedsBody
	case (p.exists || value == nil) && contains(p.live, value):
		return Same
	}
	return Differs
}

// onlySelf reports whether a set contains only the position itself.
func onlySelf(fields map[string]any) bool {
	_, self := fields["."]
	return self && len(fields) == 1
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
	for entry := range p.ours {
		key, isField := strings.CutPrefix(entry, "f:")
		if _, has := value[key]; entry != "." && (!isField || !has) {
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
	case slices.ContainsFunc(p.others, func(set map[string]any) bool { return len(set) == 0 }):
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
	for _, item := range items {
		entry, ok := p.entryOf(item)
		if !ok {
			return Differs
		}
		below, _ := p.at(entry)
		below.ignore(fields.BelowItem(p.ignored, item))
		if p.seen {
			index := p.indexOf(entry)
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
	if entries := len(p.ours); entries > len(items) && (entries != len(items)+1 || p.ours["."] == nil) {
		return Differs
	}
	return proof
}

// indexOf returns the index of an entry's live item; -1 if there is none or
// more than one. A key that was applied as null has its default there, or none.
func (p ownedValue) indexOf(entry string) int {
	items, _ := p.live.([]any)
	found := -1
	for i, item := range items {
		if !isEntryOf(entry, item, func(_, want string, _ bool) bool { return want == "null" }) {
			continue
		}
		if found >= 0 {
			return -1
		}
		found = i
	}
	return found
}

// entryOf returns the entry for an item. A key that the item does not have was
// defaulted, so its field has no owner. If more than one entry matches, ok is
// false.
func (p ownedValue) entryOf(item any) (string, bool) {
	found, count := "", 0
	for name, below := range p.ours {
		fields, ok := below.(map[string]any)
		isDefaulted := func(key, _ string, given bool) bool { _, owned := fields["f:"+key]; return !given && !owned }
		if ok && isEntryOf(name, item, isDefaulted) {
			found = name
			count++
		}
	}
	return found, count == 1
}

// isEntryOf reports whether an item has the value of a list entry, v:value, or the keys of
// k:{"key":value,…}, except for those that need not be equal. It has at least one of the
// keys, or a key is null.
func isEntryOf(entry string, item any, isOpen func(key, want string, given bool) bool) bool {
	if text, ok := strings.CutPrefix(entry, "v:"); ok {
		return sameValue(text, item)
	}
	fields, isMap := item.(map[string]any)
	keys, ok := keysOf(entry)
	if !isMap || !ok {
		return false
	}
	known := false
	for key, want := range keys {
		has, given := fields[key]
		if !isOpen(key, string(want), given) && (!given || !sameValue(string(want), has)) {
			return false
		}
		known = known || given || string(want) == "null"
	}
	return known
}

// keysOf returns the keys of an entry k:{…}.
func keysOf(entry string) (map[string]json.RawMessage, bool) {
	text, ok := strings.CutPrefix(entry, "k:")
	var keys map[string]json.RawMessage
	return keys, ok && json.Unmarshal([]byte(text), &keys) == nil
}
