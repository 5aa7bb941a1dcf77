package apply

import (
	"encoding/base64"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/ordering"
)

// desired is the object as it is sent: without what only the server writes, the
// annotations whose keys it refuses and the stamps that only the plan needs, and
// a Secret's stringData as data, so that one field has one owner. Explicit nulls
// are left out where the kind's schema, nil when it is not known, does not take
// them. What controllers fill is left to them; scaled says that one of them sets the
// replicas.
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
	leaveToControllers(out, scaled)
	return out
}

// foldStringData moves a Secret's stringData into data, over keys of the same
// name, as the API server would. What is no text stays where it is, for the API
// server to refuse.
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
