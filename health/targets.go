package health

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// targets compares what a status calls current with what it calls its target:
// currentVersion with targetVersion or desiredVersion.
func (r *reading) targets(status map[string]any) {
	for key, value := range status {
		noun, ok := strings.CutPrefix(key, "current")
		current, isText := value.(string)
		if !ok || !isText || noun == "" || current == "" {
			continue
		}
		for _, prefix := range []string{"target", "desired"} {
			if target, _ := status[prefix+noun].(string); target != "" && target != current {
				r.add(sign{means: busy, rank: mild, text: fmt.Sprintf("%s is %s, and %s%s is %s", key, current, prefix, noun, target)})
			}
		}
	}
}

// parents compares the parents that a route of the Gateway API names with those
// whose controllers have answered.
func (r *reading) parents(spec, status map[string]any) {
	wanted, _ := spec["parentRefs"].([]any)
	answered, isList := status["parents"].([]any)
	if !isList {
		return
	}
	for _, item := range wanted {
		ref, _ := item.(map[string]any)
		name, _ := ref["name"].(string)
		if name != "" && !isAnswered(ref, answered) {
			r.add(sign{means: busy, rank: mild, text: "parent " + name + " has not answered yet"})
		}
	}
}

// isAnswered reports whether a list of answers has one for a parent.
func isAnswered(ref map[string]any, answers []any) bool {
	for _, item := range answers {
		answer, _ := item.(map[string]any)
		given, _ := answer["parentRef"].(map[string]any)
		same := len(given) > 0
		for _, key := range []string{"group", "kind", "namespace", "name", "sectionName", "port"} {
			value, asked := ref[key]
			other, told := given[key]
			same = same && (!asked || !told || fmt.Sprint(value) == fmt.Sprint(other))
		}
		if same {
			return true
		}
	}
	return false
}

// labels reads the labels and annotations by which operators mark an object whose
// status is written by another: …/upgrade-result: failed.
func (r *reading) labels(obj *unstructured.Unstructured) {
	for _, marks := range []map[string]string{obj.GetLabels(), obj.GetAnnotations()} {
		for key, value := range marks {
			_, name, prefixed := strings.Cut(key, "/")
			if !prefixed || len(strings.Fields(value)) != 1 || !isName(value) {
				continue
			}
			switch lastWord(name) {
			case "state", "status", "result", "phase", "health":
				if means := meaningOf(value); means >= trouble {
					r.add(sign{means: means, rank: mild, text: key + " is " + value})
				}
			}
		}
	}
}
