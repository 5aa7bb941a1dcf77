package applyset

import (
	"encoding/json"
	"slices"
	"strings"
)

// place is one place of an object: who owns what there, in the form of
// managedFields, and what the live object has there.
type place struct {
	ours     map[string]any
	others   []map[string]any // of managers that own something there
	live     any
	exists   bool // live has a value there; it may be null
	seen     bool // live was read
	declared bool // the schema is Kubernetes' own: no free-form field, no map of structs
}

// at is a place further down; false when nothing there is ours.
func (p place) at(key string) (place, bool) {
	ours, ok := p.ours[key].(map[string]any)
	next := place{ours: ours, seen: p.seen, declared: p.declared}
	for _, other := range p.others {
		if set, has := other[key].(map[string]any); has {
			next.others = append(next.others, set)
		}
	}
	return next, ok
}

// field is the place of a field of a map.
func (p place) field(name string) (place, bool) {
	next, ok := p.at("f:" + name)
	fields, _ := p.live.(map[string]any)
	next.live, next.exists = fields[name]
	return next, ok
}

// prove compares one value with what is owned and what is there.
func (p place) prove(value any) Proof {
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

// proveWhole compares a value whose entry is `{}`. Declared fields are owned as a
// whole then. Elsewhere it may be a map entry that is ours and of which nothing
// else is.
func (p place) proveWhole(value any) Proof {
	switch {
	case p.declared:
		return Same
	case slices.ContainsFunc(p.others, func(set map[string]any) bool { return len(set) > 0 }) && !isEmpty(value):
		return Differs
	case !p.seen:
		return Unseen
	case (p.exists || value == nil) && contains(p.live, value):
		return Same
	}
	return Differs
}

// onlySelf reports whether a set names nothing below its own place.
func onlySelf(fields map[string]any) bool {
	_, self := fields["."]
	return self && len(fields) == 1
}

// proveFields compares a map field by field. What is ours beyond it, the PATCH
// would remove. Where adjust is not nil, it says what is known of a field.
func (p place) proveFields(value map[string]any, adjust func(key string, below place) place) Proof {
	proof := Same
	if _, isMap := p.live.(map[string]any); p.seen && !isMap {
		return Differs
	} else if !p.seen && !hasContent(value) {
		proof = Unseen // the server does not store empty lists: the map may be gone
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

// proveUnowned compares a value of which nothing is ours. That is so for an empty
// list whose items would have owners of their own, and for a map that holds no
// more than such lists.
func (p place) proveUnowned(value any) Proof {
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
		return Unseen
	case contains(p.live, value):
		return Same
	}
	return Differs
}

// proveItems compares a list of which each item has an owner: a list of maps by
// their keys, or a set. Items of other managers may stand between ours; the order
// of ours is that of the PATCH.
func (p place) proveItems(items []any) Proof {
	proof, last := Same, -1
	for _, item := range items {
		entry, ok := p.entryOf(item)
		if !ok {
			return Differs
		}
		below, _ := p.at(entry)
		if p.seen {
			index := p.indexOf(entry)
			if index <= last {
				return Differs
			}
			last = index
			below.live, below.exists = p.live.([]any)[index], true
		} else if len(items) > 1 {
			proof = Unseen
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

// indexOf is where the live item of an entry stands; -1 when there is none, or
// more than one.
func (p place) indexOf(entry string) int {
	items, _ := p.live.([]any)
	found := -1
	for i, item := range items {
		if !isKey(entry, item) {
			continue
		}
		if found >= 0 {
			return -1
		}
		found = i
	}
	return found
}

// isKey reports whether an item has the value or every key that an entry names.
func isKey(entry string, item any) bool {
	if text, ok := strings.CutPrefix(entry, "v:"); ok {
		return sameValue(text, item)
	}
	fields, isMap := item.(map[string]any)
	keys, ok := keysOf(entry)
	if !isMap || !ok {
		return false
	}
	for key, want := range keys {
		if has, ok := fields[key]; !ok || !sameValue(string(want), has) {
			return false
		}
	}
	return true
}

// entryOf is the entry of an item's fields. A key that the item does not have is
// one that the schema filled in, so that its field has no owner; when more than
// one entry fits, none is certain, and none is returned.
func (p place) entryOf(item any) (string, bool) {
	found, count := "", 0
	for name, below := range p.ours {
		if fields, ok := below.(map[string]any); ok && isAbout(name, fields, item) {
			found = name
			count++
		}
	}
	return found, count == 1
}

// isAbout reports whether the entry of a list, with what is ours in it, fits an
// item: v:value or k:{"key":value,…}.
func isAbout(entry string, ours map[string]any, item any) bool {
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
		has, ok := fields[key]
		if _, owned := ours["f:"+key]; owned && !ok {
			return false
		}
		if ok && !sameValue(string(want), has) {
			return false
		}
		known = known || ok
	}
	return known
}

// keysOf are the keys that an entry k:{…} names.
func keysOf(entry string) (map[string]json.RawMessage, bool) {
	text, ok := strings.CutPrefix(entry, "k:")
	var keys map[string]json.RawMessage
	return keys, ok && json.Unmarshal([]byte(text), &keys) == nil
}
