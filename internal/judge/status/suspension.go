package status

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// SuspendField returns the field of a spec that suspends or pauses the object, or
// "".
func SuspendField(obj *unstructured.Unstructured) string {
	spec := Spec(obj)
	for _, key := range []string{"suspend", "suspended", "pause", "paused"} {
		if on, _ := spec[key].(bool); on {
			return key
		}
	}
	return ""
}

// IsPaused reports whether the spec of an object, or a part of it, pauses the object.
func IsPaused(obj *unstructured.Unstructured) bool { return specPauses(Spec(obj), 0) }

// specPauses reports whether a spec, or a part of it, pauses the object.
func specPauses(spec map[string]any, depth int) bool {
	for key, value := range spec {
		switch value := value.(type) {
		case bool:
			if value && meaningOf(key) == MeaningPaused {
				return true
			}
		case map[string]any:
			if depth < 2 && specPauses(value, depth+1) {
				return true
			}
		}
	}
	return false
}

// suspendedBy returns the cause of an object's pause: its spec, or an
// annotation that operators define for it.
func suspendedBy(obj *unstructured.Unstructured) string {
	if specSuspends(Spec(obj), 0) {
		return "its spec"
	}
	for _, key := range slices.Sorted(maps.Keys(obj.GetAnnotations())) {
		_, name, _ := strings.Cut(key, "/")
		value := obj.GetAnnotations()[key]
		if meaningOf(name) == MeaningPaused && value != "" && value != "false" {
			return "annotation " + key
		}
	}
	return ""
}

// specSuspends reports whether a spec pauses or suspends its object.
func specSuspends(spec map[string]any, depth int) bool {
	for key, value := range spec {
		suspends := false
		switch value := value.(type) {
		case bool:
			suspends = value && meaningOf(key) == MeaningPaused || !value && depth == 0 && isSwitch(key)
		case int64, float64:
			n, _ := Integer(value)
			suspends = n == 0 && depth == 0 && key == "replicas"
		case string:
			suspends = len(value) < 30 && (meaningOf(value) == MeaningPaused || strings.EqualFold(value, "disabled") && isStateKey(lastWord(key)))
		case map[string]any:
			suspends = depth < 4 && specSuspends(value, depth+1)
		}
		if suspends {
			return true
		}
	}
	return false
}

// isSwitch reports whether a field of a spec turns an object on or off.
func isSwitch(key string) bool {
	return oneOf(key, "running", "enabled", "active", "started", "online")
}

// SuspendedAsRequested returns the sign that an object is paused and the request for it, its
// spec or an annotation; ok is false if it is not paused, has failed or nothing requests it.
func (r *Signals) SuspendedAsRequested(obj *unstructured.Unstructured) (reason string, ok bool) {
	if r.idle == "" || r.bad.Means >= MeaningFailed {
		return "", false
	}
	requester := suspendedBy(obj)
	return r.idle + ", as " + requester + " requests", requester != ""
}
