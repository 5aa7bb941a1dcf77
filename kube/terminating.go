package kube

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// DeletionBlockers returns what blocks the deletion of a terminating object: its
// finalizers, or conditions about the deletion. The text is made to follow
// another; "" when nothing is known.
func DeletionBlockers(live *unstructured.Unstructured) string {
	var held []string
	if names := live.GetFinalizers(); len(names) > 0 {
		held = append(held, "finalizers "+strings.Join(names, ", "))
	}
	conditions, _, _ := unstructured.NestedSlice(live.Object, "status", "conditions")
	for _, c := range conditions {
		condition, _ := c.(map[string]any)
		if name := fmt.Sprint(condition["type"]); condition["status"] == "True" && strings.HasPrefix(name, "Namespace") {
			held = append(held, fmt.Sprintf("%s: %v", name, condition["message"]))
		}
	}
	if len(held) == 0 {
		return ""
	}
	return " (blocked by " + strings.Join(held, "; ") + ")"
}
