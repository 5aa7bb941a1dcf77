package sortorder

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/internal/text/strict"
)

// fromData converts a ConfigMap's data to the fields of a SortOrder. kpt passes
// `configMap:` and key=value arguments this way: every value is a string. Lists
// and maps are YAML in the string; emit may be comma-separated; name is the
// order's name.
//
//	data:
//	  name: platform
//	  typeOrder: helm
//	  sortOrder: |
//	    - matchAnnotations: {tier: foundation}
func fromData(object map[string]any) (map[string]any, Problems) {
	var problems Problems
	tree := map[string]any{"apiVersion": APIVersion, "kind": Kind, "metadata": map[string]any{"name": DefaultName}}
	data, ok := object["data"].(map[string]any)
	if !ok && object["data"] != nil {
		problems.add("data", "must be a map of strings, not %s", strict.Describe(object["data"]))
	}
	for _, name := range slices.Sorted(maps.Keys(data)) {
		text, ok := data[name].(string)
		switch {
		case !ok:
			problems.add(plain.Field("data", name), "must be a string, not %s", strict.Describe(data[name]))
		case name == "name":
			tree["metadata"] = map[string]any{"name": text}
		default:
			value, err := fromText(name, text)
			if err != nil {
				problems.add(plain.Field("data", name), "%s", asProblems(err)[0].Message)
				continue
			}
			tree[name] = value
		}
	}
	return tree, problems
}

// fromText parses a value of a ConfigMap according to its field's type. An
// invalid boolean remains a string, which is rejected later.
func fromText(name, text string) (any, error) {
	want := fieldType(name)
	if want == nil || want.Kind() == reflect.String {
		return text, nil
	}
	if want.Kind() == reflect.Bool {
		if value, err := strconv.ParseBool(text); err == nil {
			return value, nil
		}
		return text, nil
	}
	value, err := strict.Value([]byte(text))
	if list, ok := value.(string); ok && want == reflect.TypeFor[[]string]() {
		return splitWords(list), err
	}
	return value, err
}

// fieldType returns the type of a field that data may set, or nil.
func fieldType(name string) reflect.Type {
	for _, field := range strict.FieldsOf(reflect.TypeFor[config]()) {
		if field.Tag.Get("json") == name {
			return field.Type
		}
	}
	return nil
}

func splitWords(list string) []any {
	var out []any
	for _, word := range strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' || r == '\n' }) {
		out = append(out, word)
	}
	return out
}

// withDataPaths changes the paths of problems to the ConfigMap's fields.
func (ps Problems) withDataPaths() Problems {
	for i, p := range ps {
		switch rest, isName := strings.CutPrefix(p.Path, "metadata.name"); {
		case isName:
			ps[i].Path = "data.name" + rest
		case !strings.HasPrefix(p.Path, "data"):
			ps[i].Path = fmt.Sprintf("data.%s", p.Path)
		}
	}
	return ps
}
