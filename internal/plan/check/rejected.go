package check

import (
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/internal/plan/mutation"
	"github.com/ordapply/ordapply/internal/plan/references"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// A custom resource that its own CRD rejects can be found from the stream
// alone. Only errors count that no default and no additional field can fix:
// fields that the schema does not declare, which server-side apply refuses, wrong
// types, values and sizes. CEL rules are left to the API server.

// Rejected returns, for each custom resource that a CRD of the same stream rejects, an
// error that lists the violations: undeclared fields, wrong types, values and sizes, not
// missing fields and CEL rules. It skips resources that a mutating webhook of the stream
// intercepts, because the webhook may change them, and resources with placeholders for
// values of other objects.
func Rejected(ix *references.Index) map[object.ID]error { return check(ix, schemaValidator{}) }

// Undeclared is Rejected for undeclared fields alone. The API server tolerates other
// violations of an object that exists, where the manifest does not change the value.
func Undeclared(ix *references.Index) map[object.ID]error {
	return check(ix, schemaValidator{onlyUndeclared: true})
}

func check(ix *references.Index, empty schemaValidator) map[object.ID]error {
	found := map[object.ID]error{}
	for _, r := range ix.Resources {
		at, defined := ix.CRDs[references.GroupKind{Group: r.Group, Kind: r.Kind}]
		if !defined || hasMutatingWebhook(ix, r) || mutation.Has(r.Annotations) {
			continue
		}
		crd, c := ix.Resources[at], empty
		c.prunes = references.Field(crd.Object, "spec", "preserveUnknownFields") != true
		c.resource(versionOf(crd.Object, r.Version), r.Object)
		if len(c.problems) > 0 {
			found[r.ID] = fmt.Errorf("%s rejects it: %s: correct the manifest", crd.ID, strings.Join(c.problems, "; "))
		}
	}
	return found
}

// hasMutatingWebhook reports whether a mutating webhook of the stream may change a
// resource.
func hasMutatingWebhook(ix *references.Index, r ordering.Resource) bool {
	return slices.ContainsFunc(ix.Webhooks, func(w references.Webhook) bool {
		return ix.Resources[w.At].Kind == "MutatingWebhookConfiguration" && w.Matches(ix, r)
	})
}

// versionOf returns a CRD's entry for a version, or nil.
func versionOf(crd map[string]any, name string) any {
	for _, v := range references.List(crd, "spec", "versions") {
		if references.String(v, "name") == name {
			return v
		}
	}
	return nil
}

// schemaValidator validates an object against a structural schema:
// https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#validation
type schemaValidator struct {
	onlyUndeclared bool
	prunes         bool // fields that the schema does not declare are refused
	problems       []string
}

// resource validates a whole object. It skips apiVersion, kind and metadata,
// which the API server validates without the schema, and status if it is a
// subresource, since the API server drops it.
func (c *schemaValidator) resource(version any, obj map[string]any) {
	root, _ := references.Field(version, "schema", "openAPIV3Schema").(map[string]any)
	fields, _ := root["properties"].(map[string]any)
	c.prunes = c.prunes && root["x-kubernetes-preserve-unknown-fields"] != true
	for _, name := range slices.Sorted(maps.Keys(obj)) {
		if slices.Contains([]string{"apiVersion", "kind", "metadata"}, name) || name == "status" && references.Field(version, "subresources", "status") != nil {
			continue
		}
		schema, known := fields[name].(map[string]any)
		if !known {
			c.undeclared(root, obj[name], name)
			continue
		}
		c.value(schema, obj[name], name)
	}
}

func (c *schemaValidator) value(schema map[string]any, value any, path string) {
	if value == nil { // dropped, or allowed as nullable
		return
	}
	if schema["x-kubernetes-preserve-unknown-fields"] == true {
		below := *c
		below.prunes, below.problems = false, nil
		below.constraints(schema, value, path)
		c.problems = append(c.problems, below.problems...)
		return
	}
	c.constraints(schema, value, path)
}

// undeclared adds a problem for a field that a schema does not declare. An object without
// declared fields may be any object.
func (c *schemaValidator) undeclared(schema map[string]any, value any, path string) {
	fields, _ := schema["properties"].(map[string]any)
	if c.prunes && value != nil && len(fields) > 0 && schema["additionalProperties"] == nil && schema["x-kubernetes-preserve-unknown-fields"] != true {
		c.problems = append(c.problems, path+" is not declared in its schema")
	}
}

// constraints checks a value that is not null, and everything in it.
func (c *schemaValidator) constraints(schema map[string]any, value any, path string) {
	if want := wantedType(schema, value); want != "" {
		c.addf("%s must be of type %s", path, want)
		return
	}
	if allowed := references.List(schema, "enum"); len(allowed) > 0 && !slices.ContainsFunc(allowed, func(a any) bool { return fmt.Sprint(a) == fmt.Sprint(value) }) {
		c.addf("%s must be one of %s", path, strings.Join(quoted(allowed), ", "))
	}
	switch value := value.(type) {
	case string:
		c.text(schema, value, path)
	case map[string]any:
		c.object(schema, value, path)
	case []any:
		c.checkMaximum(schema, "maxItems", len(value), path, "item")
		items, _ := schema["items"].(map[string]any)
		for i, item := range value {
			c.value(items, item, plain.Item(path, i))
		}
	default:
		c.number(schema, value, path)
	}
}

func (c *schemaValidator) text(schema map[string]any, value, path string) {
	c.checkMaximum(schema, "maxLength", utf8.RuneCountInString(value), path, "character")
	pattern, _ := schema["pattern"].(string)
	if re, err := regexp.Compile(pattern); err == nil && !re.MatchString(value) {
		c.addf("%s must match %s", path, pattern)
	}
}

func (c *schemaValidator) object(schema, value map[string]any, path string) {
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(value)), func(name string) bool { return value[name] == nil })
	c.checkMaximum(schema, "maxProperties", len(names), path, "field")
	fields, _ := schema["properties"].(map[string]any)
	others, _ := schema["additionalProperties"].(map[string]any)
	for _, name := range names {
		field, known := fields[name].(map[string]any)
		switch {
		case known:
		case others == nil && !isEmbedded(schema, name):
			c.undeclared(schema, value[name], plain.Field(path, name))
		default:
			field = others
		}
		c.value(field, value[name], plain.Field(path, name))
	}
}

func (c *schemaValidator) number(schema map[string]any, value any, path string) {
	n, ok := number(value)
	if !ok {
		return
	}
	if limit, ok := number(schema["maximum"]); ok && (n > limit || n == limit && schema["exclusiveMaximum"] == true) {
		c.addf("%s must be at most %v", path, schema["maximum"])
	}
	if limit, ok := number(schema["minimum"]); ok && (n < limit || n == limit && schema["exclusiveMinimum"] == true) {
		c.addf("%s must be at least %v", path, schema["minimum"])
	}
}

// isEmbedded reports whether a field is one that every object has, in an object that is a
// whole Kubernetes object itself.
func isEmbedded(schema map[string]any, name string) bool {
	return schema["x-kubernetes-embedded-resource"] == true && slices.Contains([]string{"apiVersion", "kind", "metadata"}, name)
}

// checkMaximum checks a size against the schema keyword that limits it.
func (c *schemaValidator) checkMaximum(schema map[string]any, keyword string, size int, path, noun string) {
	if limit, ok := number(schema[keyword]); ok && float64(size) > limit {
		c.addf("%s has %s, more than the maximum of %v", path, plain.Count(size, noun), limit)
	}
}

// addf adds a violation that a schema's types, values and sizes cause.
func (c *schemaValidator) addf(format string, args ...any) {
	if c.onlyUndeclared {
		return
	}
	c.problems = append(c.problems, fmt.Sprintf(format, args...))
}

// wantedType returns the schema's type if the value has another one; "" if the
// value matches or the schema has no type.
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
