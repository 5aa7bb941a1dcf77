package write

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ordapply/ordapply/internal/fields"
)

// keys returns the keys of the labels.
func keys() []string { return []string{"kapp.k14s.io/app", "kapp.k14s.io/association"} }

// KappLabelsInPodTemplate reports whether a field is a label of kapp in a Pod template.
func KappLabelsInPodTemplate(path fieldpath.Path) bool {
	n := len(path)
	if n < 4 || path[n-1].FieldName == nil || !slices.Contains(keys(), *path[n-1].FieldName) {
		return false
	}
	return fields.StartsWith(path[n-4:], "template", "metadata", "labels")
}

// KeepKappLabels adds to the selector of a body, and to its claim templates, the labels of kapp
// that the live object has there. It reports whether it added any.
func KeepKappLabels(body, live *unstructured.Unstructured) bool {
	spec, _ := body.Object["spec"].(map[string]any)
	was, _ := live.Object["spec"].(map[string]any)
	if spec == nil || was == nil || was["template"] == nil {
		return false
	}
	kept := keep(at(spec, "selector"), at(was, "selector"), "matchLabels")
	claims, _ := spec["volumeClaimTemplates"].([]any)
	before, _ := was["volumeClaimTemplates"].([]any)
	for i := range min(len(claims), len(before)) {
		claim, _ := claims[i].(map[string]any)
		old, _ := before[i].(map[string]any)
		metadata := at(claim, "metadata")
		if metadata != nil && at(old, "metadata")["name"] == metadata["name"] {
			kept = keep(metadata, at(old, "metadata"), "labels") || kept
		}
	}
	return kept
}

// WithoutKappLabels returns a selector without kapp's labels.
func WithoutKappLabels(selector any) any {
	fields, ok := selector.(map[string]any)
	if !ok {
		return selector
	}
	out := map[string]any{}
	for key, value := range fields {
		if !slices.Contains(keys(), key) {
			out[key] = value
		}
	}
	return out
}

func at(fields map[string]any, name string) map[string]any {
	inner, _ := fields[name].(map[string]any)
	return inner
}

// keep copies kapp's labels from one map of labels to another.
func keep(to, from map[string]any, field string) bool {
	kept := false
	for _, key := range keys() {
		value, has := at(from, field)[key]
		if !has || to == nil {
			continue
		}
		labels := at(to, field)
		if labels == nil && to[field] != nil {
			return false
		}
		if _, given := labels[key]; given {
			continue
		}
		if labels == nil {
			labels = map[string]any{}
		}
		labels[key] = value
		to[field], kept = labels, true
	}
	return kept
}
