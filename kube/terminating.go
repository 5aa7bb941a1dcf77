package kube

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/internal/judge/status"
)

// DeletionBlockers returns the blockers of a terminating object's deletion: its
// finalizers, or conditions about the deletion. The text is made to follow
// another; "" when nothing is known.
func DeletionBlockers(live *unstructured.Unstructured) string {
	var blockers []string
	if names := live.GetFinalizers(); len(names) > 0 {
		blockers = append(blockers, "finalizers "+strings.Join(names, ", "))
	}
	for _, condition := range status.Conditions(status.Status(live)) {
		if name := fmt.Sprint(condition["type"]); condition["status"] == "True" && strings.HasPrefix(name, "Namespace") {
			blockers = append(blockers, fmt.Sprintf("%s: %v", name, condition["message"]))
		}
	}
	if len(blockers) == 0 {
		return ""
	}
	return " (blocked by " + strings.Join(blockers, "; ") + ")"
}
