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
		Labels:      obj.GetLabels(),
		Annotations: obj.GetAnnotations(),
	}
}
