package status

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// targets compares current with target values of a status: currentVersion with
// targetVersion or desiredVersion.
func (r *Signals) targets(status map[string]any) {
	for key, value := range status {
		noun, ok := strings.CutPrefix(key, "current")
		current, isText := value.(string)
		if !ok || !isText || noun == "" || current == "" {
			continue
		}
		for _, prefix := range []string{"target", "desired"} {
			if target, _ := status[prefix+noun].(string); target != "" && target != current {
				r.add(Signal{Means: MeaningInProgress, weight: weightMedium, Text: fmt.Sprintf("%s is %s, and %s%s is %s", key, current, prefix, noun, target)})
			}
		}
	}
}

// parents compares the parents that a Gateway API route names with parents that
// have answered in the status.
func (r *Signals) parents(spec, status map[string]any) {
	wanted, _ := spec["parentRefs"].([]any)
	answered, isList := status["parents"].([]any)
	if !isList {
		return
	}
	for _, item := range wanted {
		ref, _ := item.(map[string]any)
		name, _ := ref["name"].(string)
		if name != "" && !isAnswered(ref, answered) {
			r.add(Signal{Means: MeaningInProgress, weight: weightMedium, Text: "parent " + name + " has not answered yet"})
		}
	}
}

// isAnswered reports whether the status has an answer for a parent.
func isAnswered(ref map[string]any, answers []any) bool {
	for _, item := range answers {
		answer, _ := item.(map[string]any)
		given, _ := answer["parentRef"].(map[string]any)
		same := len(given) > 0
		for _, key := range []string{"group", "kind", "namespace", "name", "sectionName", "port"} {
			value, inRef := ref[key]
			other, inAnswer := given[key]
			same = same && (!inRef || !inAnswer || fmt.Sprint(value) == fmt.Sprint(other))
		}
		if same {
			return true
		}
	}
	return false
}

// labels reads labels and annotations in which operators store the state of an
// object that they do not own, such as …/upgrade-result: failed.
func (r *Signals) labels(obj *unstructured.Unstructured) {
	for _, labels := range []map[string]string{obj.GetLabels(), obj.GetAnnotations()} {
		for key, value := range labels {
			_, name, prefixed := strings.Cut(key, "/")
			if !prefixed || len(strings.Fields(value)) != 1 || !isName(value) {
				continue
			}
			if means := meaningOf(value); means >= MeaningTrouble && oneOf(lastWord(name), "state", "status", "result", "phase", "health") {
				r.add(Signal{Means: means, weight: weightMedium, Text: key + " is " + value})
			}
		}
	}
}
