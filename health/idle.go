package health

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// markSuspended marks an object that is not ready and whose spec suspends or pauses it:
// its status may refer to an older spec, or remain incomplete, indefinitely.
func markSuspended(obj *unstructured.Unstructured, given Assessment) Assessment {
	spec, _ := obj.Object["spec"].(map[string]any)
	if given.Verdict == Ready && specPauses(spec, 0) { // ready, and remains so
		given.Health = GradeSuspended
	}
	if key := suspendField(spec); key != "" && given.Verdict == Progressing {
		given.SuspendedBySpec = true
		if given.Grade() == GradeProgressing {
			given.Health = GradeSuspended
		}
		given.Reason += "; spec." + key + " is true: it continues when that is unset"
	}
	return given
}

// SuspendedByManifest reports whether a manifest suspends or pauses its object, by
// spec.suspend, suspended, pause or paused; nil does not.
func SuspendedByManifest(manifest *unstructured.Unstructured) bool {
	if manifest == nil {
		return false
	}
	spec, _ := manifest.Object["spec"].(map[string]any)
	return suspendField(spec) != ""
}

// suspendField returns the field of a spec that suspends or pauses the object, or
// "".
func suspendField(spec map[string]any) string {
	for _, key := range []string{"suspend", "suspended", "pause", "paused"} {
		if on, _ := spec[key].(bool); on {
			return key
		}
	}
	return ""
}

// specPauses reports whether a spec, or a part of it, pauses the object.
func specPauses(spec map[string]any, depth int) bool {
	for key, value := range spec {
		switch value := value.(type) {
		case bool:
			if value && meaningOf(key) == meaningPaused {
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

// suspendedBy returns what pauses or suspends an object: its spec, or an
// annotation that operators define for it.
func suspendedBy(obj *unstructured.Unstructured, spec map[string]any) string {
	if specSuspends(spec, 0) {
		return "its spec"
	}
	for _, key := range slices.Sorted(maps.Keys(obj.GetAnnotations())) {
		_, name, _ := strings.Cut(key, "/")
		value := obj.GetAnnotations()[key]
		if meaningOf(name) == meaningPaused && value != "" && value != "false" {
			return "annotation " + key
		}
	}
	return ""
}

// specSuspends reports whether a spec pauses or suspends its object.
func specSuspends(spec map[string]any, depth int) bool {
	for key, value := range spec {
		asks := false
		switch value := value.(type) {
		case bool:
			asks = value && meaningOf(key) == meaningPaused || !value && depth == 0 && isSwitch(key)
		case int64, float64:
			n, _ := integer(value)
			asks = n == 0 && depth == 0 && key == "replicas"
		case string:
			asks = len(value) < 30 && (meaningOf(value) == meaningPaused || strings.EqualFold(value, "disabled") && isStateKey(lastWord(key)))
		case map[string]any:
			asks = depth < 4 && specSuspends(value, depth+1)
		}
		if asks {
			return true
		}
	}
	return false
}

// desiredStates returns the states that a spec asks for, in lower case: "primary"
// for replicationState: primary.
func desiredStates(spec map[string]any) map[string]bool {
	asked := map[string]bool{}
	for key, value := range spec {
		if text, ok := value.(string); ok && isStateKey(lastWord(key)) {
			asked[strings.ToLower(text)] = true
		}
	}
	return asked
}

// isSwitch reports whether a field of a spec turns an object on or off.
func isSwitch(key string) bool {
	switch key {
	case "running", "enabled", "active", "started", "online":
		return true
	}
	return false
}
