package applyset

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
)

// owned is who owns what below one place of an object, in the form of
// managedFields.
type owned struct {
	ours   map[string]any
	others []map[string]any // of managers that own something there
}

// below is the same for a place further down; false when we own nothing there.
func (o owned) below(key string) (owned, bool) {
	ours, ok := o.ours[key].(map[string]any)
	next := owned{ours: ours}
	for _, other := range o.others {
		if set, has := other[key].(map[string]any); has {
			next.others = append(next.others, set)
		}
	}
	return next, ok
}

// coversObject tells whether every field of an object is ours. What names the
// object is nobody's.
func (o owned) coversObject(object map[string]any) bool {
	rest := make(map[string]any, len(object))
	for key, value := range object {
		switch key {
		case "apiVersion", "kind":
		case "metadata":
			metadata, _ := value.(map[string]any)
			own := make(map[string]any, len(metadata))
			for k, v := range metadata {
				if k != "name" && k != "namespace" {
					own[k] = v
				}
			}
			if len(own) > 0 {
				rest[key] = own
			}
		default:
			rest[key] = value
		}
	}
	return o.coversMap(rest)
}

// covers tells whether everything of a value is ours. An empty set stands for
// the whole value: a scalar, or a list or map that is owned as one.
func (o owned) covers(value any) bool {
	if len(o.ours) == 0 {
		return true
	}
	switch value := value.(type) {
	case map[string]any:
		return o.coversMap(value)
	case []any:
		return o.coversList(value)
	default:
		return onlySelf(o.ours)
	}
}

// onlySelf tells whether a set names nothing below its own place.
func onlySelf(fields map[string]any) bool {
	_, self := fields["."]
	return self && len(fields) == 1
}

func (o owned) coversMap(value map[string]any) bool {
	for key, v := range value {
		below, ok := o.below("f:" + key)
		if !ok && !below.nothingToOwn(v) || ok && !below.covers(v) {
			return false
		}
	}
	return len(value) > 0 || onlySelf(o.ours)
}

// nothingToOwn tells whether a value of which nothing is ours holds nothing that
// could be: an empty list or map of which each item has an owner of its own.
// Where somebody owns the place as a whole, it was ours and is no longer.
func (o owned) nothingToOwn(value any) bool {
	switch value := value.(type) {
	case []any:
		if len(value) > 0 {
			return false
		}
	case map[string]any:
		if len(value) > 0 {
			return false
		}
	default:
		return false
	}
	return !slices.ContainsFunc(o.others, func(set map[string]any) bool { return len(set) == 0 })
}

// coversList finds for each item the one entry that is about it: by value in a
// set, by keys in a list of maps.
func (o owned) coversList(items []any) bool {
	for _, item := range items {
		entry, ok := o.entryOf(item)
		if !ok {
			return false
		}
		if below, _ := o.below(entry); !below.covers(item) {
			return false
		}
	}
	return len(items) > 0 || onlySelf(o.ours)
}

// entryOf is the entry of an item's fields. A key that the item does not have is
// one that the schema filled in, so that nobody owns it in there; when more than
// one entry fits, it cannot be told which, and none does.
func (o owned) entryOf(item any) (string, bool) {
	found, count := "", 0
	for name, below := range o.ours {
		if fields, ok := below.(map[string]any); ok && isAbout(name, fields, item) {
			found = name
			count++
		}
	}
	return found, count == 1
}

// isAbout tells whether the entry of a list, with what is ours in it, fits an
// item: v:value or k:{"key":value,…}.
func isAbout(entry string, ours map[string]any, item any) bool {
	if text, ok := strings.CutPrefix(entry, "v:"); ok {
		return sameValue(text, item)
	}
	text, ok := strings.CutPrefix(entry, "k:")
	if !ok {
		return false
	}
	fields, isMap := item.(map[string]any)
	var keys map[string]json.RawMessage
	if !isMap || json.Unmarshal([]byte(text), &keys) != nil {
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

// sameValue compares a JSON text with a value of an unstructured object, in
// which numbers may be int64 or float64.
func sameValue(text string, value any) bool {
	encoded, err := json.Marshal(value)
	if err != nil {
		return false
	}
	var a, b any
	if json.Unmarshal([]byte(text), &a) != nil || json.Unmarshal(encoded, &b) != nil {
		return false
	}
	return reflect.DeepEqual(a, b)
}
