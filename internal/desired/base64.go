package desired

import (
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// CheckBase64 returns an error for each value of a Secret or ConfigMap that
// should be base64 and is not, by its key alone; nil when there is none. The
// API server's own error does not name the key.
func CheckBase64(obj *unstructured.Unstructured) error {
	field, plain := "", ""
	switch obj.GroupVersionKind().GroupKind() {
	case schema.GroupKind{Kind: "Secret"}:
		field, plain = "data", "stringData"
	case schema.GroupKind{Kind: "ConfigMap"}:
		field, plain = "binaryData", "data"
	}
	values, _ := obj.Object[field].(map[string]any)
	var errs []error
	for _, key := range slices.Sorted(maps.Keys(values)) {
		text, _ := values[key].(string)
		if _, err := base64.StdEncoding.DecodeString(text); err != nil {
			errs = append(errs, fmt.Errorf("%s.%s is not base64: encode its value, or write it unencoded under %s", field, key, plain))
		}
	}
	return errors.Join(errs...)
}
