package applyset_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
)

// shape is a random structural schema from which matching values are generated.
type shape struct {
	kind     shapeKind
	fields   map[string]*shape // of a struct, a free-form tree with some known fields, or the items of a keyed list
	element  *shape            // of a map or list
	keys     []string          // of a keyed list
	atomic   bool
	nullable bool
	fallback any // the default of a scalar
}

type shapeKind int

const (
	scalar shapeKind = iota
	structure
	mapping
	freeForm
	list
	set
	keyed
)

// shapes generates schemas. If declared is set they are like native kinds':
// without free-form fields, and with maps of scalars only.
type shapes struct {
	*rand.Rand
	declared bool
}

func (r shapes) structure(depth int) *shape {
	s := &shape{kind: structure, fields: map[string]*shape{}, atomic: depth < 3 && r.IntN(8) == 0}
	for i := range 1 + r.IntN(4) {
		s.fields[string(rune('a'+i))] = r.any(depth - 1)
	}
	return s
}

func (r shapes) any(depth int) *shape {
	if depth <= 0 {
		return r.scalar()
	}
	switch n := r.IntN(12); {
	case n < 2:
		return r.scalar()
	case n < 4:
		return r.structure(depth)
	case n < 6:
		s := &shape{kind: mapping, element: r.scalar(), atomic: r.IntN(5) == 0}
		if !r.declared {
			s.element = r.any(depth - 1)
		}
		return s
	case n < 7:
		return &shape{kind: list, element: r.any(depth - 1)}
	case n < 8:
		return &shape{kind: set, element: &shape{kind: scalar}}
	case n < 10 || r.declared:
		return r.keyed(depth)
	}
	s := &shape{kind: freeForm, fields: map[string]*shape{}}
	if r.IntN(3) == 0 {
		s.fields["a"] = r.any(depth - 1)
	}
	return s
}

func (r shapes) scalar() *shape {
	s := &shape{kind: scalar, nullable: !r.declared && r.IntN(6) == 0}
	if r.IntN(6) == 0 {
		s.fallback = "x"
	}
	return s
}

// keyed returns a list of maps with one key, or with two of which the second
// has a default, like the protocol of a port.
func (r shapes) keyed(depth int) *shape {
	item := &shape{kind: structure, fields: map[string]*shape{"name": {kind: scalar}, "v": r.any(depth - 1), "w": r.any(depth - 1)}}
	s := &shape{kind: keyed, element: item, keys: []string{"name"}}
	if r.IntN(2) == 0 {
		s.keys = append(s.keys, "protocol")
		item.fields["protocol"] = &shape{kind: scalar, fallback: "TCP"}
	} else {
		item.atomic = r.IntN(8) == 0
	}
	return s
}

// openAPI returns the schema in the format of a CRD.
func (s *shape) openAPI() map[string]any {
	out := map[string]any{}
	if s.nullable {
		out["nullable"] = true
	}
	if s.fallback != nil {
		out["default"] = s.fallback
	}
	if len(s.fields) > 0 {
		properties := map[string]any{}
		for name, field := range s.fields {
			properties[name] = field.openAPI()
		}
		out["properties"] = properties
	}
	out["type"] = "object"
	switch s.kind {
	case scalar:
		out["type"] = "string"
	case structure:
		if s.atomic {
			out["x-kubernetes-map-type"] = "atomic"
		}
	case mapping:
		out["additionalProperties"] = s.element.openAPI()
		if s.atomic {
			out["x-kubernetes-map-type"] = "atomic"
		}
	case freeForm:
		out["x-kubernetes-preserve-unknown-fields"] = true
	case list, set, keyed:
		out["type"] = "array"
		out["items"] = s.element.openAPI()
		out["x-kubernetes-list-type"] = map[shapeKind]string{list: "atomic", set: "set", keyed: "map"}[s.kind]
		if s.kind == keyed {
			out["x-kubernetes-list-map-keys"] = anyList(s.keys)
		}
	}
	return out
}

func anyList(texts []string) []any {
	var out []any
	for _, text := range texts {
		out = append(out, text)
	}
	return out
}

// value returns a random value of a shape.
func (r shapes) value(s *shape, depth int) any {
	switch s.kind {
	case scalar:
		if (s.nullable || s.fallback != nil && !r.declared) && r.IntN(3) == 0 {
			return nil
		}
		return r.text()
	case structure:
		return r.structValue(s, depth)
	case mapping:
		out := map[string]any{}
		for range r.IntN(4) {
			out[r.key()] = r.value(s.element, depth-1)
		}
		return out
	case freeForm:
		out := r.tree(depth)
		if known, ok := s.fields["a"]; ok {
			delete(out, "a")
			if r.IntN(2) == 0 {
				out["a"] = r.value(known, depth-1)
			}
		}
		return out
	case list:
		out := []any{}
		for range r.IntN(4) {
			out = append(out, r.value(s.element, depth-1))
		}
		return out
	case set:
		out := []any{}
		for _, at := range r.Perm(4)[:r.IntN(4)] {
			out = append(out, fmt.Sprintf("s%d", at))
		}
		return out
	}
	return r.items(s, depth)
}

func (r shapes) structValue(s *shape, depth int) map[string]any {
	out := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(s.fields)) {
		if r.IntN(4) > 0 {
			out[name] = r.value(s.fields[name], depth-1)
		}
	}
	return out
}

func (r shapes) items(s *shape, depth int) []any {
	out := []any{}
	for _, at := range r.Perm(5)[:r.IntN(5)] {
		item := r.structValue(s.element, depth-1)
		item["name"] = fmt.Sprintf("n%d", at/2) // duplicate names if there is a second key
		delete(item, "protocol")
		if at%2 == 1 {
			item["protocol"] = "UDP"
		}
		if len(s.keys) == 1 {
			item["name"] = fmt.Sprintf("n%d", at)
			delete(item, "protocol")
		}
		out = append(out, item)
	}
	return out
}

// tree returns a random value of a free-form field.
func (r shapes) tree(depth int) map[string]any {
	out := map[string]any{}
	for range r.IntN(4) {
		out[r.key()] = r.free(depth - 1)
	}
	return out
}

func (r shapes) free(depth int) any {
	if depth > 0 {
		switch r.IntN(5) {
		case 0, 1:
			return r.tree(depth)
		case 2:
			out := []any{}
			for range r.IntN(3) {
				out = append(out, r.free(depth-1))
			}
			return out
		}
	}
	switch r.IntN(6) {
	case 0:
		return nil
	case 1:
		return int64(r.IntN(3))
	case 2:
		return r.IntN(2) == 0
	}
	return r.text()
}

func (r shapes) text() string { return string(rune('t' + r.IntN(4))) }
func (r shapes) key() string  { return string(rune('a' + r.IntN(4))) }

// fill adds defaults to a value in place, as the server does.
func (s *shape) fill(value any) {
	switch value := value.(type) {
	case map[string]any:
		for name, field := range s.fields {
			if v, has := value[name]; field.fallback != nil && (!has || v == nil && !field.nullable) {
				value[name] = field.fallback
			}
		}
		for name, v := range value {
			if field, ok := s.fields[name]; ok {
				field.fill(v)
			} else if s.element != nil {
				s.element.fill(v)
			}
		}
	case []any:
		for _, item := range value {
			if s.element != nil {
				s.element.fill(item)
			}
		}
	}
}

// omitEmpty drops empty lists and maps of scalars from a value in place.
func (s *shape) omitEmpty(value any) {
	switch value := value.(type) {
	case map[string]any:
		for name, v := range value {
			below := s.below(name)
			items, isList := v.([]any)
			fields, isMap := v.(map[string]any)
			if isList && len(items) == 0 || isMap && len(fields) == 0 && below.kind == mapping {
				delete(value, name)
				continue
			}
			below.omitEmpty(v)
		}
	case []any:
		for _, item := range value {
			s.element.omitEmpty(item)
		}
	}
}
