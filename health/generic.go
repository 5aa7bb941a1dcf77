package health

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	judgestatus "github.com/ordapply/ordapply/internal/judge/status"
)

// generic reads a status of an unknown kind by the words and numbers that controllers
// commonly use, with the printer columns of the kind if known. ok is false if nothing is
// recognized. Conditions about an older generation count as work that is not done.
func (a *Assessor) generic(obj *unstructured.Unstructured, s subject) (Assessment, bool) {
	given, ok := fromStatus(obj, s, a.columnsOf(obj.GroupVersionKind()))
	return markSuspended(obj, given), ok
}

func fromStatus(obj *unstructured.Unstructured, s subject, columns []Column) (Assessment, bool) {
	status, isMap := obj.Object["status"].(map[string]any)
	if word, ok := obj.Object["status"].(string); ok { // some CRDs have a string as status
		status, isMap = map[string]any{"state": word}, true
	}
	if !isMap || judgestatus.IsEmpty(status) {
		return noStatus(obj), true
	}
	if a, stale := isStaleStatus(obj); stale {
		return a, true
	}
	signals := judgestatus.Read(obj, status, stateColumns(s.Object, columns))
	if reason, ok := signals.SuspendedAsRequested(obj); ok {
		return Assessment{Verdict: Ready, Health: GradeSuspended, Reason: reason, Rule: "generic"}, true
	}
	decisive, ok := signals.Decisive()
	if !ok {
		return Assessment{}, false
	}
	return fromSignal(decisive), true
}

// describeUnhealthy describes the error or unfinished work in a status, with its
// grade; "" if none.
func describeUnhealthy(obj *unstructured.Unstructured) (string, Grade) {
	if s, ok := judgestatus.Read(obj, judgestatus.Status(obj), nil).Unhealthy(); ok {
		return s.Text, gradeOf(s)
	}
	return "", GradeUnset
}

// withoutStatus is the Assessment.Rule of objects without a status, assumed to be ready or not.
const withoutStatus = "no status"

// noStatus is the assessment of an object without a status. Kinds that run on a
// schedule have none before the first run.
func noStatus(obj *unstructured.Unstructured) Assessment {
	if judgestatus.IsSchedule(obj.GetKind()) {
		return Assessment{Verdict: Ready, Reason: "its schedule is not due yet", Rule: "generic"}
	}
	return Assessment{Verdict: Progressing, Reason: "it has no status yet", Rule: withoutStatus, NoStatus: true}
}
