package openapi

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	smdschema "sigs.k8s.io/structured-merge-diff/v6/schema"

	"github.com/ordapply/ordapply/internal/nearest"
	"github.com/ordapply/ordapply/internal/plain"
)

// Check returns an error that lists the faults for which the API server refuses an object: fields
// that its kind does not define, each with the nearest name, and values of another type; nil if
// there are none, or if the type of the object is not known. No value of a Secret is printed.
func (t Types) Check(obj *unstructured.Unstructured) error {
	of, known := t.of[obj.GroupVersionKind()]
	if !known {
		return nil
	}
	c := checker{schema: of.Schema, secret: obj.GroupVersionKind().GroupKind() == schema.GroupKind{Kind: "Secret"}}
	c.value(of.TypeRef, obj.Object, "")
	switch {
	case len(c.wrong) > 0:
		for _, one := range c.unknown {
			c.wrong = append(c.wrong, one.path+" is not a field of its kind"+one.hint)
		}
		return errors.New("the manifest has values of the wrong type: " + strings.Join(c.wrong, "; "))
	case len(c.unknown) > 0:
		var fields []string
		for _, one := range c.unknown {
			fields = append(fields, one.path+one.hint)
		}
		return errors.New("the manifest has a field that its kind does not define: " + strings.Join(fields, "; "))
	}
	return nil
}

// checker walks an object and its type.
type checker struct {
	schema  *smdschema.Schema
	secret  bool // it is a Secret
	wrong   []string
	unknown []unknownField
}

type unknownField struct{ path, hint string }

// value checks a value. Null fits every type.
func (c *checker) value(ref smdschema.TypeRef, value any, path string) {
	atom, known := c.schema.Resolve(ref)
	if !known || value == nil || atom == (smdschema.Atom{}) {
		return
	}
	switch value := value.(type) {
	case map[string]any:
		if atom.Map != nil {
			c.fields(atom.Map, value, path)
			return
		}
	case []any:
		if atom.List != nil {
			for i, item := range value {
				c.value(atom.List.ElementType, item, itemPath(atom.List, path, i, item))
			}
			return
		}
	default:
		if atom.Scalar != nil && fits(*atom.Scalar, value) {
			return
		}
	}
	c.wrong = append(c.wrong, path+" must be "+wanted(atom)+", got "+c.got(wanted(atom), value))
}

// got describes a value of the wrong type.
func (c *checker) got(wanted string, value any) string {
	of := typeOf(value)
	if wanted != aString || of == aMap || of == aList {
		return of
	}
	if c.secret {
		return "another type"
	}
	return fmt.Sprintf("%v as YAML reads it: quote the value", value) // no is read as false, 0644 as 420
}

// fields checks the fields of a map.
func (c *checker) fields(m *smdschema.Map, value map[string]any, path string) {
	for _, name := range slices.Sorted(maps.Keys(value)) {
		field, declared := m.FindField(name)
		switch {
		case declared:
			c.value(field.Type, value[name], plain.Field(path, name))
		case m.ElementType != smdschema.TypeRef{}:
			c.value(m.ElementType, value[name], plain.Field(path, name))
		default:
			c.unknown = append(c.unknown, unknownField{plain.Field(path, name), likely(name, m, value)})
		}
	}
}

// likely returns the nearest name of a field that the object does not have yet.
func likely(name string, m *smdschema.Map, has map[string]any) string {
	field, ok := nearest.Best(m.Fields, func(field smdschema.StructField) (int, bool) {
		letters, close := nearest.Distance(name, field.Name)
		_, taken := has[field.Name]
		return letters, close && !taken
	})
	if !ok {
		return ""
	}
	return " (did you mean " + field.Name + "?)"
}

// itemPath returns the path of an item: with its keys, where the list has them.
func itemPath(list *smdschema.List, path string, i int, item any) string {
	fields, _ := item.(map[string]any)
	if len(list.Keys) == 0 || slices.ContainsFunc(list.Keys, func(key string) bool { return fields[key] == nil }) {
		return plain.Item(path, i)
	}
	return path + "[" + plain.ItemKeys(list.Keys, func(key string) any { return fields[key] }) + "]"
}

// fits reports whether a scalar has a type. The API server has one for all numbers.
func fits(want smdschema.Scalar, value any) bool {
	return want == smdschema.Untyped || nameOf(want) == typeOf(value)
}

// wanted names a type.
func wanted(atom smdschema.Atom) string {
	switch {
	case atom.Map != nil:
		return aMap
	case atom.List != nil:
		return aList
	}
	return nameOf(*atom.Scalar)
}

// Names of types.
const (
	aMap     = "a map"
	aList    = "a list"
	aString  = "a string"
	aNumber  = "a number"
	aBoolean = "true or false"
)

func nameOf(scalar smdschema.Scalar) string {
	switch scalar {
	case smdschema.Numeric:
		return aNumber
	case smdschema.String:
		return aString
	case smdschema.Boolean:
		return aBoolean
	}
	return "a scalar"
}

func typeOf(value any) string {
	switch value.(type) {
	case map[string]any:
		return aMap
	case []any:
		return aList
	case string:
		return aString
	case bool:
		return aBoolean
	}
	return aNumber
}
