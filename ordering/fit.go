package ordering

import (
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/ordapply/ordapply/object"
)

// A custom resource that its own CustomResourceDefinition refuses can be known from
// the stream alone. Only what no default and no further field makes right counts:
// wrong types, values and sizes. CEL rules are the API server's to evaluate.

// Unfit says, of the custom resources that the CustomResourceDefinitions of their
// own stream refuse, what does not fit. Resources that a mutating webhook of the
// stream sees are left out: it may change them.
func Unfit(resources []Resource) map[object.ID]error {
	return newIndex(resources, nil).unfit()
}

func (ix *index) unfit() map[object.ID]error {
	found := map[object.ID]error{}
	for _, r := range ix.resources {
		at, defined := ix.crds[groupKind{r.Group, r.Kind}]
		if !defined || ix.mutated(r) {
			continue
		}
		crd := ix.resources[at]
		c := fitting{}
		c.resource(versionOf(crd.Object, r.Version), r.Object)
		if len(c.wrong) > 0 {
			found[r.ID] = fmt.Errorf("%s refuses it: %s: correct the manifest", crd.ID, strings.Join(c.wrong, "; "))
		}
	}
	return found
}

// mutated reports whether a webhook of the stream may change a resource.
func (ix *index) mutated(r Resource) bool {
	return slices.ContainsFunc(ix.webhooks, func(w webhook) bool {
		return ix.resources[w.at].Kind == "MutatingWebhookConfiguration" && w.matches(ix, r)
	})
}

// versionOf is the entry of a CustomResourceDefinition for a version; nil without one.
func versionOf(crd map[string]any, name string) any {
	for _, v := range list(crd, "spec", "versions") {
		if str(v, "name") == name {
			return v
		}
	}
	return nil
}

// fitting compares an object with a structural schema:
// https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#validation.
type fitting struct{ wrong []string }

// resource compares what the API server validates of a whole object. It checks
// apiVersion, kind and metadata itself, and drops a status that has a subresource.
func (c *fitting) resource(version any, obj map[string]any) {
	fields, _ := at(version, "schema", "openAPIV3Schema", "properties").(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(obj)) {
		schema, known := fields[name].(map[string]any)
		if !known || slices.Contains([]string{"apiVersion", "kind", "metadata"}, name) {
			continue
		}
		if name == "status" && at(version, "subresources", "status") != nil {
			continue
		}
		c.value(schema, obj[name], name)
	}
}

func (c *fitting) value(schema map[string]any, value any, path string) {
	if value == nil { // dropped, or allowed as nullable
		return
	}
	if want := wantedType(schema, value); want != "" {
		c.say("%s must be of type %s", path, want)
		return
	}
	if allowed := list(schema, "enum"); len(allowed) > 0 && !slices.ContainsFunc(allowed, func(a any) bool { return fmt.Sprint(a) == fmt.Sprint(value) }) {
		c.say("%s must be one of %s", path, strings.Join(quoted(allowed), ", "))
	}
	switch value := value.(type) {
	case string:
		c.text(schema, value, path)
	case map[string]any:
		c.object(schema, value, path)
	case []any:
		c.most(schema, "maxItems", len(value), path, "item", "items")
		items, _ := schema["items"].(map[string]any)
		for i, item := range value {
			c.value(items, item, fmt.Sprintf("%s[%d]", path, i))
		}
	default:
		c.number(schema, value, path)
	}
}

func (c *fitting) text(schema map[string]any, value, path string) {
	c.most(schema, "maxLength", utf8.RuneCountInString(value), path, "character", "characters")
	pattern, _ := schema["pattern"].(string)
	if re, err := regexp.Compile(pattern); err == nil && !re.MatchString(value) {
		c.say("%s must match %s", path, pattern)
	}
}

func (c *fitting) object(schema, value map[string]any, path string) {
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(value)), func(name string) bool { return value[name] == nil })
	c.most(schema, "maxProperties", len(names), path, "field", "fields")
	fields, _ := schema["properties"].(map[string]any)
	others, _ := schema["additionalProperties"].(map[string]any)
	for _, name := range names {
		field, known := fields[name].(map[string]any)
		if !known {
			field = others
		}
		c.value(field, value[name], path+"."+name)
	}
}

func (c *fitting) number(schema map[string]any, value any, path string) {
	n, ok := number(value)
	if !ok {
		return
	}
	if limit, ok := number(schema["maximum"]); ok && (n > limit || n == limit && schema["exclusiveMaximum"] == true) {
		c.say("%s must be at most %v", path, schema["maximum"])
	}
	if limit, ok := number(schema["minimum"]); ok && (n < limit || n == limit && schema["exclusiveMinimum"] == true) {
		c.say("%s must be at least %v", path, schema["minimum"])
	}
}

// most checks a size against the keyword that bounds it.
func (c *fitting) most(schema map[string]any, keyword string, size int, path, one, many string) {
	if limit, ok := number(schema[keyword]); ok && float64(size) > limit {
		c.say("%s has %s, and may have %v at most", path, counted(size, one, many), limit)
	}
}

func (c *fitting) say(format string, args ...any) {
	c.wrong = append(c.wrong, fmt.Sprintf(format, args...))
}

// wantedType is the type that a schema wants and a value does not have; "" when it
// fits, or the schema wants none.
func wantedType(schema map[string]any, value any) string {
	want, _ := schema["type"].(string)
	n, isNumber := number(value)
	fits := true
	switch want {
	case "object":
		_, fits = value.(map[string]any)
	case "array":
		_, fits = value.([]any)
	case "string":
		_, fits = value.(string)
	case "boolean":
		_, fits = value.(bool)
	case "integer":
		fits = isNumber && n == math.Trunc(n)
	case "number":
		fits = isNumber
	}
	if fits {
		return ""
	}
	return want
}

func number(v any) (float64, bool) {
	switch v := v.(type) {
	case int64:
		return float64(v), true
	case int:
		return float64(v), true
	case float64:
		return v, true
	}
	return 0, false
}

func quoted(values []any) []string {
	var out []string
	for _, v := range values {
		out = append(out, fmt.Sprintf("%q", fmt.Sprint(v)))
	}
	return out
}
