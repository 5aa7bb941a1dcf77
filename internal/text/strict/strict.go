// Package strict decodes the YAML files of our own kinds into Go structs. It reports every
// unknown and every mistyped field at once, each with its path, and the known name that an
// unknown one is most like.
//
//	type shop struct {
//		Hours []hours `json:"hours" doc:"When it is open."`
//		Till  string  `json:"till" doc:"The till's name." values:"a name"`
//	}
//	document, err := strict.Read(text, "a Shop", "hours and till")
//	var s shop
//	faults := strict.Decode(document, &s) // hours[3].form: unknown field; did you mean from?
//
// These tags of a struct's fields count:
//
//	json    the name of the field, which every field must have
//	doc     its meaning, for pages and editors
//	values  "" is an error, and the tag says what to write instead
//	for     names, with spaces between them, that people write instead of this one
//	write   what to write instead of those, if not the name alone
//	open    the field is an object that may have fields beside the known ones
package strict

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/ordapply/ordapply/internal/nearest"
	"github.com/ordapply/ordapply/internal/plain"
)

// Fault is an error in a document.
type Fault struct {
	Path    string // such as rules[3].readyWhen; "" for the whole document
	Message string // continues the path: "is empty: write a name"
}

// Error returns "path: message".
func (f Fault) Error() string {
	if f.Path == "" {
		return "it " + f.Message
	}
	return f.Path + ": " + f.Message
}

// Faults are the errors in a document, in the order of its fields.
type Faults []Fault

// Add adds an error.
func (fs *Faults) Add(path, format string, args ...any) {
	*fs = append(*fs, Fault{path, fmt.Sprintf(format, args...)})
}

// Under reports whether there is an error at a path or below it.
func (fs Faults) Under(path string) bool {
	return slices.ContainsFunc(fs, func(f Fault) bool { return IsUnder(f.Path, path) })
}

// IsUnder reports whether a path is another one, or one below that.
func IsUnder(path, other string) bool {
	rest, ok := strings.CutPrefix(path, other)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// Err returns the joined errors; nil if there are none.
func (fs Faults) Err() error {
	errs := make([]error, len(fs))
	for i, f := range fs {
		errs[i] = f
	}
	return errors.Join(errs...)
}

// Field is a field that decodes itself.
type Field interface {
	// DecodeField takes a string, a bool, a float64, a []any or a map[string]any. Its error
	// continues the path of the field. After ErrByType the field is decoded by its type.
	DecodeField(value any) error
}

// ErrByType is returned by a DecodeField that leaves a value to the decoder.
var ErrByType = errors.New("decode it by its type")

// Decode stores a document in a struct, to which into points.
func Decode(document map[string]any, into any) Faults {
	var d decoder
	d.object(reflect.ValueOf(into).Elem(), document, "", false)
	return d.faults
}

type decoder struct{ faults Faults }

// value stores a value in target, the field at a path. open reports whether it may have
// unknown fields.
func (d *decoder) value(target reflect.Value, value any, path string, open bool) {
	if target.Kind() == reflect.Interface {
		if value != nil {
			target.Set(reflect.ValueOf(value))
		}
		return
	}
	if value == nil {
		d.faults.Add(path, "is null: leave the field out or give it a value")
		return
	}
	if field, ok := target.Addr().Interface().(Field); ok {
		err := field.DecodeField(value)
		if err != nil && !errors.Is(err, ErrByType) {
			d.faults.Add(path, "%v", err)
		}
		if !errors.Is(err, ErrByType) {
			return
		}
	}
	switch target.Kind() {
	case reflect.Pointer:
		target.Set(reflect.New(target.Type().Elem()))
		d.value(target.Elem(), value, path, open)
	case reflect.String, reflect.Bool:
		d.scalar(target, value, path)
	case reflect.Slice:
		d.list(target, value, path)
	case reflect.Map:
		d.mapping(target, value, path)
	case reflect.Struct:
		d.object(target, value, path, open)
	default:
		panic("strict: no field of a file is a " + target.Type().String())
	}
}

// scalar stores a string or boolean.
func (d *decoder) scalar(target reflect.Value, value any, path string) {
	_, isList := value.([]any)
	_, isMap := value.(map[string]any)
	switch v := reflect.ValueOf(value); {
	case v.Kind() == target.Kind():
		target.Set(v.Convert(target.Type()))
	case target.Kind() == reflect.Bool:
		d.faults.Add(path, "must be true or false, not %s", Describe(value))
	case isList || isMap:
		d.faults.Add(path, "must be a string, not %s", Describe(value))
	default:
		d.faults.Add(path, "is %s: write it in quotes", Describe(value))
	}
}

// list stores a sequence.
func (d *decoder) list(target reflect.Value, value any, path string) {
	entries, ok := value.([]any)
	if !ok {
		d.faults.Add(path, "must be a list, not %s", Describe(value))
		return
	}
	target.Set(reflect.MakeSlice(target.Type(), len(entries), len(entries)))
	for i, entry := range entries {
		d.value(target.Index(i), entry, plain.Item(path, i), false)
	}
}

// mapping stores a mapping of any keys. Empty and absent maps stay distinct.
func (d *decoder) mapping(target reflect.Value, value any, path string) {
	fields, ok := value.(map[string]any)
	if !ok {
		d.faults.Add(path, "must be %s, not %s", nameOfMap(target.Type()), Describe(value))
		return
	}
	target.Set(reflect.MakeMap(target.Type()))
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		entry := reflect.New(target.Type().Elem()).Elem()
		d.value(entry, fields[key], plain.Field(path, key), false)
		target.SetMapIndex(reflect.ValueOf(key), entry)
	}
}

func nameOfMap(t reflect.Type) string {
	if t.Elem().Kind() == reflect.String {
		return "a map of strings"
	}
	return "a map"
}

// object stores a mapping in a struct.
func (d *decoder) object(target reflect.Value, value any, path string, open bool) {
	fields, ok := value.(map[string]any)
	if !ok {
		d.faults.Add(path, "must be a map, not %s", Describe(value))
		return
	}
	known := FieldsOf(target.Type())
	for _, f := range known {
		name := Name(f)
		field, has := fields[name]
		if values := f.Tag.Get("values"); has && field == "" && values != "" {
			d.faults.Add(plain.Field(path, name), "is empty: write %s, or leave the field out", values)
		} else if has {
			d.value(target.FieldByIndex(f.Index), field, plain.Field(path, name), f.Tag.Get("open") != "")
		}
	}
	if open {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if !slices.ContainsFunc(known, func(f reflect.StructField) bool { return Name(f) == name }) {
			d.faults.Add(plain.Field(path, name), "unknown field%s", meant(name, known))
		}
	}
}

// meant ends the message about an unknown field with the known one that it probably is.
func meant(written string, known []reflect.StructField) string {
	names := make([]string, len(known))
	for i, f := range known {
		if slices.Contains(strings.Fields(f.Tag.Get("for")), written) {
			return "; did you mean " + write(f) + "?"
		}
		names[i] = Name(f)
	}
	slices.Sort(names)
	return nearest.DidYouMean(written, names)
}

func write(f reflect.StructField) string {
	if text := f.Tag.Get("write"); text != "" {
		return text
	}
	return Name(f)
}

// Name returns the name of a field in a file.
func Name(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}

// FieldsOf returns the fields of a struct, with embedded structs' fields in their place.
func FieldsOf(t reflect.Type) []reflect.StructField {
	return slices.DeleteFunc(reflect.VisibleFields(t), func(f reflect.StructField) bool { return f.Anonymous })
}

// Describe returns a decoded value's type and, for a scalar, the value.
func Describe(value any) string {
	switch v := value.(type) {
	case nil:
		return "null"
	case string:
		return fmt.Sprintf("the string %q", v)
	case bool:
		return fmt.Sprintf("the boolean %v", v)
	case []any:
		return "a list"
	case map[string]any:
		return "a map"
	}
	text, _ := json.Marshal(value) // decoded scalars always marshal
	return "the number " + string(text)
}
