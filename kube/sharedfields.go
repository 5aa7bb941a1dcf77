package kube

import (
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// sharedFields are the field sets of managedFields in one LIST, by their JSON. The objects of a
// kind mostly have the same fields, and a set takes more memory than the rest of the metadata:
// equal ones are one map, which nobody may change.
type sharedFields map[string]map[string]any

// convert returns the metadata of an object without its type.
func (s sharedFields) convert(item *metav1.PartialObjectMetadata) (*unstructured.Unstructured, error) {
	sets := make([]map[string]any, len(item.ManagedFields))
	for i := range item.ManagedFields {
		entry := &item.ManagedFields[i]
		var err error
		if sets[i], err = s.of(entry.FieldsV1); err != nil {
			return nil, err
		}
		entry.FieldsV1 = nil
	}
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(item)
	if err != nil {
		return nil, err
	}
	entries, _, _ := unstructured.NestedFieldNoCopy(object, "metadata", "managedFields")
	for i, set := range sets {
		if set != nil {
			entries.([]any)[i].(map[string]any)["fieldsV1"] = set
		}
	}
	return &unstructured.Unstructured{Object: object}, nil
}

// of returns a field set; nil for nil.
func (s sharedFields) of(fields *metav1.FieldsV1) (map[string]any, error) {
	if fields == nil {
		return nil, nil
	}
	text := fields.GetRawBytes()
	if set, ok := s[string(text)]; ok {
		return set, nil
	}
	var set map[string]any
	if err := json.Unmarshal(text, &set); err != nil {
		return nil, err
	}
	s[string(text)] = set
	return set, nil
}
