package sortorder

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	texttree "github.com/ordapply/ordapply/internal/text/tree"
	"sigs.k8s.io/yaml"
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
func (d *decoder) fromData(object map[string]any) map[string]any {
	tree := map[string]any{"apiVersion": APIVersion, "kind": Kind, "metadata": map[string]any{"name": DefaultName}}
	data, ok := object["data"].(map[string]any)
	if !ok && object["data"] != nil {
		d.problems.add("data", "must be a map of strings, not %s", describe(object["data"]))
	}
	for _, name := range slices.Sorted(maps.Keys(data)) {
		text, ok := data[name].(string)
		switch {
		case !ok:
			d.problems.add("data."+name, "must be a string, not %s", describe(data[name]))
		case name == "name":
			tree["metadata"] = map[string]any{"name": text}
		default:
			d.fromText(tree, name, text)
		}
	}
	return tree
}

// fromText parses a value of a ConfigMap according to its field's type. An
// invalid boolean remains a string, which is rejected later.
func (d *decoder) fromText(tree map[string]any, name, text string) {
	tree[name] = text
	want := fieldType(name)
	if want == nil || want.Kind() == reflect.String {
		return
	}
	if want.Kind() == reflect.Bool {
		if value, err := strconv.ParseBool(text); err == nil {
			tree[name] = value
		}
		return
	}
	var value any
	body, err := texttree.ToJSON([]byte(text))
	if err == nil {
		err = yaml.Unmarshal(body, &value)
	}
	if err != nil {
		d.problems.add("data."+name, "is not valid YAML: %s", yamlReason(err))
		delete(tree, name)
		return
	}
	if list, ok := value.(string); ok && want == reflect.TypeFor[[]string]() {
		value = splitWords(list)
	}
	tree[name] = value
}

// fieldType returns the type of a field that data may set, or nil.
func fieldType(name string) reflect.Type {
	for _, field := range fieldsOf(reflect.TypeFor[config]()) {
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

// withDataPaths changes the paths of problems to those of the ConfigMap's fields.
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
