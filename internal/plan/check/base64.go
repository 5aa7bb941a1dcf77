package check

import (
	"encoding/base64"
	"fmt"
	"maps"
	"slices"

	"github.com/ordapply/ordapply/object"
)

// base64Errors returns an error for each value of a Secret or ConfigMap that should be
// base64 and is not, by its key alone. The API server's own error does not name the key.
func base64Errors(of object.ID, obj map[string]any) (errs []error) {
	field, plain := "", ""
	switch of.GroupKind() {
	case "Secret":
		field, plain = "data", "stringData"
	case "ConfigMap":
		field, plain = "binaryData", "data"
	}
	values, _ := obj[field].(map[string]any)
	for _, key := range slices.Sorted(maps.Keys(values)) {
		text, _ := values[key].(string)
		if _, err := base64.StdEncoding.DecodeString(text); err != nil {
			errs = append(errs, fmt.Errorf("%s.%s is not base64: encode its value, or write it unencoded under %s", field, key, plain))
		}
	}
	return errs
}
