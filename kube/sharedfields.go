package kube

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// sharedFields are the managedFields of one LIST, by their content. Objects of a kind mostly
// have the same, which take more memory than the rest of their metadata: equal ones are one
// list, which must not be changed.
type sharedFields map[string]any

// convert returns the metadata of an object without its type.
func (s sharedFields) convert(item *metav1.PartialObjectMetadata) (*unstructured.Unstructured, error) {
	entries := item.ManagedFields
	item.ManagedFields = nil
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(item)
	if err == nil && len(entries) > 0 {
		object["metadata"].(map[string]any)["managedFields"], err = s.of(entries)
	}
	return &unstructured.Unstructured{Object: object}, err
}

// of returns the converted entries.
func (s sharedFields) of(entries []metav1.ManagedFieldsEntry) (any, error) {
	var key []byte
	for _, e := range entries {
		key = fmt.Appendf(key, "%s\n%s\n%s\n%s\n%s\n%v\n", e.Manager, e.Operation, e.APIVersion, e.FieldsType, e.Subresource, e.Time)
		if e.FieldsV1 != nil {
			key = append(key, e.FieldsV1.GetRawBytes()...)
		}
	}
	if list, ok := s[string(key)]; ok {
		return list, nil
	}
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&metav1.ObjectMeta{ManagedFields: entries})
	if err != nil {
		return nil, err
	}
	s[string(key)] = object["managedFields"]
	return object["managedFields"], nil
}
