package applyset

import (
	"encoding/json"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// keyPrefix is the prefix of the labels and annotations of KEP-3659.
const keyPrefix = "applyset.kubernetes.io/"

// WithParentFields returns managedFields in which manager, by apply, owns the
// labels and annotations of KEP-3659 that others owned. Other fields keep their
// owners. Entries that cannot be parsed are unchanged.
func WithParentFields(entries []metav1.ManagedFieldsEntry, manager string) []metav1.ManagedFieldsEntry {
	var out []metav1.ManagedFieldsEntry
	taken := map[string]map[string]any{} // by API version
	for _, entry := range entries {
		fields := readFields(entry)
		if entry.Manager == manager && entry.Operation == metav1.ManagedFieldsOperationApply || fields == nil {
			out = append(out, entry)
			continue
		}
		if moved := cutParentFields(fields); len(moved) > 0 {
			mergeFields(below(taken, entry.APIVersion), moved)
			entry.FieldsV1 = writeFields(fields)
		}
		if len(fields) > 0 {
			out = append(out, entry)
		}
	}
	for version, fields := range taken {
		at := slices.IndexFunc(out, func(e metav1.ManagedFieldsEntry) bool {
			return e.Manager == manager && e.Operation == metav1.ManagedFieldsOperationApply && e.APIVersion == version
		})
		if at < 0 {
			at = len(out)
			out = append(out, metav1.ManagedFieldsEntry{Manager: manager, Operation: metav1.ManagedFieldsOperationApply, APIVersion: version, FieldsType: "FieldsV1"})
		}
		mergeFields(fields, readFields(out[at]))
		out[at].FieldsV1 = writeFields(fields)
	}
	return out
}

// cutParentFields removes the labels and annotations of KEP-3659 from fields,
// and returns them in the same format.
func cutParentFields(fields map[string]any) map[string]any {
	moved := map[string]any{}
	metadata, _ := fields["f:metadata"].(map[string]any)
	for _, place := range []string{"f:labels", "f:annotations"} {
		keys, _ := metadata[place].(map[string]any)
		for key, value := range keys {
			if strings.HasPrefix(key, "f:"+keyPrefix) {
				below(below(moved, "f:metadata"), place)[key] = value
				delete(keys, key)
			}
		}
		if len(keys) == 0 || len(keys) == 1 && keys["."] != nil {
			delete(metadata, place)
		}
	}
	if len(metadata) == 0 {
		delete(fields, "f:metadata")
	}
	return moved
}

// below returns the map at a key, creating it if necessary.
func below[V any](fields map[string]V, key string) map[string]any {
	next, ok := any(fields[key]).(map[string]any)
	if !ok || next == nil {
		next = map[string]any{}
		fields[key] = any(next).(V)
	}
	return next
}

// mergeFields adds fields to others.
func mergeFields(into, from map[string]any) {
	for key, value := range from {
		if nested, ok := value.(map[string]any); ok {
			mergeFields(below(into, key), nested)
		}
	}
}

func readFields(entry metav1.ManagedFieldsEntry) map[string]any {
	var fields map[string]any
	if entry.FieldsV1 == nil || json.Unmarshal(entry.FieldsV1.GetRawBytes(), &fields) != nil {
		return nil
	}
	return fields
}

func writeFields(fields map[string]any) *metav1.FieldsV1 {
	text, err := json.Marshal(fields)
	if err != nil { // they were parsed from JSON
		return nil
	}
	return metav1.NewFieldsV1(string(text))
}
