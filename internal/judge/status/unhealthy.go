package status

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
	Outdated                      bool      // it is about an older generation

	signal Signal
}

// UnhealthyConditions returns the conditions that contradict an object's readiness, most
// severe first: positive conditions that are false, negative ones that are true, and
// ones about an older generation.
func UnhealthyConditions(obj *unstructured.Unstructured) []UnhealthyCondition {
	var found []UnhealthyCondition
	for _, c := range Conditions(Status(obj)) {
		r := Signals{generation: obj.GetGeneration(), oneShot: isOneShot(obj.GetKind())}
		r.condition("", c, 0)
		if r.bad.Means == MeaningNone {
			continue
		}
		u := UnhealthyCondition{Type: fmt.Sprint(c["type"]), Status: fmt.Sprint(c["status"]), signal: r.bad}
		u.Reason, _ = c["reason"].(string)
		u.Message, _ = c["message"].(string)
		u.Since, _ = time.Parse(time.RFC3339, fmt.Sprint(c["lastTransitionTime"]))
		seen, dated := Integer(c["observedGeneration"])
		u.Outdated = dated && seen < r.generation
		u.InProgress = r.bad.Means == MeaningInProgress && u.Status == "True"
		found = append(found, u)
	}
	slices.SortStableFunc(found, func(a, b UnhealthyCondition) int { return b.signal.compare(a.signal) })
	return found
}
