package status

import "k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

// DatedOf returns an object with only the parts of its status whose conditions name the
// generation that they describe; ok is false if there are none.
func DatedOf(obj *unstructured.Unstructured) (dated *unstructured.Unstructured, ok bool) {
	status := map[string]any{}
	for key, value := range Status(obj) {
		if part := datedPart(value, isConditions(key)); part != nil {
			status[key] = part
		}
	}
	return WithStatus(obj, status), len(status) > 0
}

// datedPart returns a value of a status with only the conditions that name a generation; nil
// if it has none.
func datedPart(value any, conditions bool) any {
	switch value := value.(type) {
	case map[string]any:
		part, found := map[string]any{}, false
		for key, field := range value {
			entry, isMap := field.(map[string]any)
			if conditions && isMap && isDated(entry) {
				part[key], found = field, true
			} else if dated := datedPart(field, isConditions(key)); dated != nil {
				part[key], found = dated, true
			} else if _, isList := field.([]any); !isMap && !isList {
				part[key] = field // it names the part
			}
		}
		if found {
			return part
		}
	case []any:
		var list []any
		for _, item := range value {
			entry, _ := item.(map[string]any)
			if conditions && isDated(entry) {
				list = append(list, entry)
			} else if part := datedPart(entry, false); part != nil && !conditions {
				list = append(list, part)
			}
		}
		if list != nil {
			return list
		}
	}
	return nil
}

// isDated reports whether a condition, or a status, names the generation that it describes.
func isDated(part map[string]any) bool {
	_, ok := Integer(part["observedGeneration"])
	return ok
}
