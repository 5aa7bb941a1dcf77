package sortorder

import (
	"errors"
	"reflect"

	"github.com/ordapply/ordapply/internal/text/strict"
)

// decode stores a document in a struct, to which into points.
func decode(document map[string]any, into any) Problems {
	var problems Problems
	for _, fault := range strict.Decode(document, into) {
		problems = append(problems, Problem(fault))
	}
	return problems
}

// asProblems returns the error of reading a document.
func asProblems(err error) Problems {
	var fault strict.Fault
	if errors.As(err, &fault) {
		return Problems{Problem(fault)}
	}
	return Problems{{Message: err.Error()}}
}

// DecodeField takes the name of a type order; the other form has fields.
func (s *typeOrderSpec) DecodeField(value any) error {
	name, isName := value.(string)
	if !isName {
		return strict.ErrByType
	}
	s.Default = name
	return nil
}

// present returns the names of the fields of a struct that the document has.
func present(fields any) []string {
	var names []string
	value := reflect.ValueOf(fields)
	for _, field := range strict.FieldsOf(value.Type()) {
		if !value.FieldByIndex(field.Index).IsNil() {
			names = append(names, field.Tag.Get("json"))
		}
	}
	return names
}
