package kube

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/object"
)

// Meta returns the part of an object that selection and ordering use.
func Meta(obj *unstructured.Unstructured) object.Meta {
	gvk := obj.GroupVersionKind()
	return object.Meta{
		ID:          object.ID{Group: gvk.Group, Kind: gvk.Kind, Namespace: obj.GetNamespace(), Name: obj.GetName()},
		Version:     gvk.Version,
		Labels:      texts(obj, "labels"),
		Annotations: texts(obj, "annotations"),
	}
}

// texts returns labels or annotations without null values, which say nothing.
func texts(obj *unstructured.Unstructured, field string) map[string]string {
	values, _, _ := unstructured.NestedFieldNoCopy(obj.Object, "metadata", field)
	entries, _ := values.(map[string]any)
	if entries == nil {
		return nil
	}
	out := make(map[string]string, len(entries))
	for key, value := range entries {
		switch value := value.(type) {
		case string:
			out[key] = value
		case nil:
		default:
			return nil // as GetLabels does
		}
	}
	return out
}
