package health

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// held marks an object that is not ready and whose spec tells its controller to
// leave it alone: its status may be about an older spec for ever, or stay as it
// was in the middle of something.
func held(obj *unstructured.Unstructured, given Assessment) Assessment {
	spec, _ := obj.Object["spec"].(map[string]any)
	if given.Verdict == Ready && asksForPause(spec, 0) { // it is ready as it is, and stays so
		given.Health = Suspended
	}
	if key := holdKey(spec); key != "" && given.Verdict == Progressing {
		given.Held = true
		if given.Grade() == Underway {
			given.Health = Suspended
		}
		given.Reason += "; spec." + key + " is true: it moves when that is taken back"
	}
	return given
}

// AsksToBeHeld tells whether a manifest tells its controller to leave the object
// alone.
func AsksToBeHeld(manifest *unstructured.Unstructured) bool {
	if manifest == nil {
		return false
	}
	spec, _ := manifest.Object["spec"].(map[string]any)
	return holdKey(spec) != ""
}

// holdKey is the field of a spec that tells the controller to leave the object
// alone; "" without one.
func holdKey(spec map[string]any) string {
	for _, key := range []string{"suspend", "suspended", "pause", "paused"} {
		if on, _ := spec[key].(bool); on {
			return key
		}
	}
	return ""
}

// asksForPause reports whether a spec, or a part of it, tells a controller to pause.
func asksForPause(spec map[string]any, depth int) bool {
	for key, value := range spec {
		switch value := value.(type) {
		case bool:
			if value && meaningOf(key) == idle {
				return true
			}
		case map[string]any:
			if depth < 2 && asksForPause(value, depth+1) {
				return true
			}
		}
	}
	return false
}

// whoAsksForIdle says what of an object wants it paused or suspended: its spec,
// or an annotation by which operators let people pause one.
func whoAsksForIdle(obj *unstructured.Unstructured, spec map[string]any) string {
	if asksForIdle(spec, 0) {
		return "its spec"
	}
	for _, key := range slices.Sorted(maps.Keys(obj.GetAnnotations())) {
		_, name, _ := strings.Cut(key, "/")
		value := obj.GetAnnotations()[key]
		if meaningOf(name) == idle && value != "" && value != "false" {
			return "annotation " + key
		}
	}
	return ""
}

// asksForIdle tells whether a spec wants its object paused or suspended.
func asksForIdle(spec map[string]any, depth int) bool {
	for key, value := range spec {
		asks := false
		switch value := value.(type) {
		case bool:
			asks = value && meaningOf(key) == idle || !value && depth == 0 && isSwitch(key)
		case int64, float64:
			n, _ := integer(value)
			asks = n == 0 && depth == 0 && key == "replicas"
		case string:
			asks = len(value) < 30 && (meaningOf(value) == idle || strings.EqualFold(value, "disabled") && isStateKey(lastWord(key)))
		case map[string]any:
			asks = depth < 4 && asksForIdle(value, depth+1)
		}
		if asks {
			return true
		}
	}
	return false
}

// askedStates are the states that a spec asks for, in lower case: of
// replicationState: primary that is "primary".
func askedStates(spec map[string]any) map[string]bool {
	asked := map[string]bool{}
	for key, value := range spec {
		if text, ok := value.(string); ok && isStateKey(lastWord(key)) {
			asked[strings.ToLower(text)] = true
		}
	}
	return asked
}

// isSwitch tells of the fields of a spec that turn an object on and off.
func isSwitch(key string) bool {
	switch key {
	case "running", "enabled", "active", "started", "online":
		return true
	}
	return false
}
