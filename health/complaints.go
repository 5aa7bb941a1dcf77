package health

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// UnhealthyCondition is a condition that contradicts an object's readiness.
type UnhealthyCondition struct {
	Type, Status, Reason, Message string    // as in status.conditions
	Since                         time.Time // lastTransitionTime; zero if unknown
	InProgress                    bool      // it reports work, not an error, such as Progressing with status True
}

// UnhealthyConditions returns the conditions that contradict an object's readiness, most
// severe first: positive conditions that are false, negative ones that are
// true, and those about an older generation.
func UnhealthyConditions(obj *unstructured.Unstructured) []UnhealthyCondition {
	status, _ := obj.Object["status"].(map[string]any)
	list, _ := status["conditions"].([]any)
	type weighed struct {
		UnhealthyCondition
		signal
	}
	var found []weighed
	for _, entry := range list {
		c, _ := entry.(map[string]any)
		r := statusSignals{generation: obj.GetGeneration(), oneShot: isOneShot(obj.GetKind())}
		r.condition("", c, 0)
		if r.bad.means == meaningNone {
			continue
		}
		since, _ := time.Parse(time.RFC3339, fmt.Sprint(c["lastTransitionTime"]))
		reason, _ := c["reason"].(string)
		message, _ := c["message"].(string)
		found = append(found, weighed{UnhealthyCondition{fmt.Sprint(c["type"]), fmt.Sprint(c["status"]), reason, message, since, r.bad.means == meaningInProgress && c["status"] == "True"}, r.bad})
	}
	slices.SortStableFunc(found, func(a, b weighed) int {
		switch {
		case a.outweighs(b.signal):
			return -1
		case b.outweighs(a.signal):
			return 1
		}
		return 0
	})
	complaints := make([]UnhealthyCondition, len(found))
	for i, w := range found {
		complaints[i] = w.UnhealthyCondition
	}
	return complaints
}
