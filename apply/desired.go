package apply

import (
	"encoding/base64"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/ordering"
)

// desired returns the object as it is sent. It leaves out the fields that
// only the server writes, annotations with keys that the server rejects and
// stamps that only the plan needs, and turns a Secret's stringData into data,
// so that each field has one owner. Explicit nulls are dropped where fields,
// the kind's schema or nil if unknown, does not allow them. Fields that
// controllers fill are left to them; scaled reports that a controller sets
// the replicas.
func desired(obj *unstructured.Unstructured, fields map[string]any, scaled bool) *unstructured.Unstructured {
	out := obj.DeepCopy()
	dropNulls(out, fields)
	delete(out.Object, "status")
	for _, field := range []string{"managedFields", "uid", "resourceVersion", "creationTimestamp", "generation", "selfLink"} {
		unstructured.RemoveNestedField(out.Object, "metadata", field)
	}
	if annotations := out.GetAnnotations(); annotations != nil {
		for _, key := range ordering.IllegalAnnotations() {
			delete(annotations, key)
		}
		for _, key := range ordering.StampAnnotations() {
			if key != ordering.LayerAnnotation {
				delete(annotations, key)
			}
		}
		out.SetAnnotations(annotations)
	}
	if out.GroupVersionKind() == (schema.GroupVersionKind{Version: "v1", Kind: "Secret"}) {
		foldStringData(out.Object)
	}
	dropControllerFields(out, scaled)
	return out
}

// foldStringData moves a Secret's stringData into data, over keys of the same
// name, as the API server does. Values that are not strings stay for the API
// server to reject.
func foldStringData(secret map[string]any) {
	text, ok := secret["stringData"].(map[string]any)
	data, isMap := secret["data"].(map[string]any)
	if !ok || secret["data"] != nil && !isMap {
		return
	}
	if data == nil {
		data = map[string]any{}
	}
	for key, value := range text {
		if s, ok := value.(string); ok {
			data[key] = base64.StdEncoding.EncodeToString([]byte(s))
			delete(text, key)
		}
	}
	secret["data"] = data
	if len(text) == 0 {
		delete(secret, "stringData")
	}
}
