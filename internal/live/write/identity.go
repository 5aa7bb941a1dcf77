package write

import "k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

// Identity returns the body of a PATCH that names a live object, and no other of that name:
// its kind, namespace, name and UID.
func Identity(live *unstructured.Unstructured) *unstructured.Unstructured {
	body := &unstructured.Unstructured{}
	body.SetGroupVersionKind(live.GroupVersionKind())
	body.SetNamespace(live.GetNamespace())
	body.SetName(live.GetName())
	body.SetUID(live.GetUID())
	return body
}
