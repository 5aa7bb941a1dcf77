package write

import (
	"encoding/base64"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// foldStringData moves a Secret's stringData into data, over keys of the same
// name, as the API server does. Values that are not strings stay for the API
// server to reject; a null is an empty string.
func foldStringData(obj *unstructured.Unstructured) {
	secret := obj.Object
	if obj.GroupVersionKind() != (schema.GroupVersionKind{Version: "v1", Kind: "Secret"}) {
		return
	}
	text, ok := secret["stringData"].(map[string]any)
	data, isMap := secret["data"].(map[string]any)
	if !ok || secret["data"] != nil && !isMap {
		return
	}
	for key, value := range text {
		s, isText := value.(string)
		if !isText && value != nil {
			continue
		}
		if data == nil {
			data = map[string]any{}
			secret["data"] = data
		}
		data[key] = base64.StdEncoding.EncodeToString([]byte(s))
		delete(text, key)
	}
	if len(text) == 0 {
		delete(secret, "stringData")
	}
}
