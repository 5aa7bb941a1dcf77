package health

import (
	"fmt"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// generic reads a status of an unknown kind by the words and numbers that
// controllers commonly use. ok is false if nothing is recognized.
func generic(obj *unstructured.Unstructured, columns []Column) (Assessment, bool) {
	given, ok := fromStatus(obj, columns)
	return markSuspended(obj, given), ok
}

// generic reads a status, using the printer columns of its kind if known.
func (a *Assessor) generic(obj *unstructured.Unstructured) (Assessment, bool) {
	return generic(obj, a.columnsOf(obj.GroupVersionKind()))
}

func fromStatus(obj *unstructured.Unstructured, columns []Column) (Assessment, bool) {
	status, isMap := obj.Object["status"].(map[string]any)
	if word, ok := obj.Object["status"].(string); ok { // some CRDs have a string as status
		status, isMap = map[string]any{"state": word}, true
	}
	if !isMap || isEmpty(status) {
		return noStatus(obj), true
	}
	if a, stale := isStaleStatus(obj, status); stale {
		return a, true
	}
	spec, _ := obj.Object["spec"].(map[string]any)
	r := read(obj, spec, status)
	r.columns(obj.Object, columns)
	if r.idle != "" && r.bad.means < meaningFailed {
		if asker := suspendedBy(obj, spec); asker != "" {
			return Assessment{Verdict: Ready, Health: GradeSuspended, Reason: r.idle + ", as " + asker + " requests", Rule: "generic"}, true
		}
	}
	return r.decide()
}

// read collects the signs of a status.
func read(obj *unstructured.Unstructured, spec, status map[string]any) statusSignals {
	r := statusSignals{generation: obj.GetGeneration(), oneShot: isOneShot(obj.GetKind())}
	seen, dated := integer(status["observedGeneration"])
	r.seen = dated && seen >= r.generation
	r.desired = desiredStates(spec)
	r.unfinished(status)
	r.fields("", status, 0)
	r.targets(status)
	r.parents(spec, status)
	r.counters("", spec, status, weightHigh)
	r.unconfirmed(status)
	r.labels(obj)
	return r
}

// describeUnhealthy describes what a status reports as wrong or unfinished, with its
// grade; "" if nothing.
func describeUnhealthy(obj *unstructured.Unstructured) (string, Grade) {
	status, _ := obj.Object["status"].(map[string]any)
	spec, _ := obj.Object["spec"].(map[string]any)
	if r := read(obj, spec, status); r.isBad() {
		return r.bad.text, r.bad.grade()
	}
	return "", GradeUnset
}

// noStatus is the assessment of an object without a status. Kinds that run on a
// schedule have none before the first run.
func noStatus(obj *unstructured.Unstructured) Assessment {
	if isSchedule(obj.GetKind()) {
		return Assessment{Verdict: Ready, Reason: "its schedule is not due yet", Rule: "generic"}
	}
	return Assessment{Verdict: Progressing, Reason: "it has no status yet", Rule: "no status", NoStatus: true}
}

// isStaleStatus reports whether the controller has not observed the current spec.
func isStaleStatus(obj *unstructured.Unstructured, status map[string]any) (Assessment, bool) {
	seen, ok := observedGeneration(status)
	if !ok || seen >= obj.GetGeneration() {
		return Assessment{}, false
	}
	if seen < 1 { // some start with -1
		return Assessment{Verdict: Progressing, Rule: "observedGeneration", Reason: "its controller has not observed it yet"}, true
	}
	return Assessment{
		Verdict: Progressing, Rule: "observedGeneration",
		Reason: fmt.Sprintf("its controller has observed generation %d, and the generation is %d", seen, obj.GetGeneration()),
	}, true
}

// observedGeneration returns the generation of a status, under any of the names
// that controllers use.
func observedGeneration(status map[string]any) (int64, bool) {
	for _, key := range []string{"observedGeneration", "reconciledGeneration", "lastReconciledGeneration", "lastObservedGeneration", "processedGeneration"} {
		if seen, ok := integer(status[key]); ok {
			return seen, true
		}
	}
	generations, _ := status["generations"].(map[string]any)
	return integer(generations["reconciled"])
}

// isOneShot reports whether objects of the kind run to completion. Schedules do
// not.
func isOneShot(kind string) bool {
	if isSchedule(kind) {
		return false
	}
	switch lastWord(kind) {
	case "job", "run", "task", "workflow", "build", "backup", "restore", "migration", "test", "scan", "execution", "analysis",
		"operation", "request", "upgrade", "snapshot", "import", "export", "experiment", "evaluation", "promotion", "trial":
		return true
	}
	return false
}

// isSchedule reports whether objects of the kind run on a schedule.
func isSchedule(kind string) bool {
	for word := range words(kind) {
		switch word {
		case "cron", "schedule", "scheduled", "periodic", "recurring":
			return true
		}
	}
	return false
}

// unfinished adds a sign for a one-shot kind that has started and not finished.
func (r *statusSignals) unfinished(status map[string]any) {
	if !r.oneShot {
		return
	}
	begun, ended := "", false
	for _, key := range []string{"startTime", "startTimestamp", "startedAt"} {
		if !isEmpty(status[key]) {
			begun = key
		}
	}
	for _, key := range []string{"completionTime", "completionTimestamp", "finishedAt", "finishTime", "endTime", "stopTime", "failureTime"} {
		ended = ended || !isEmpty(status[key])
	}
	r.ended = ended
	if begun != "" && !ended {
		r.add(signal{means: meaningInProgress, weight: weightLow, text: begun + " is set, but no completion time"})
	}
}

// integer reads a number, which some controllers write as a string.
func integer(value any) (int64, bool) {
	switch value := value.(type) {
	case int64:
		return value, true
	case float64:
		return int64(value), true
	case string:
		n, err := strconv.ParseInt(value, 10, 64)
		return n, err == nil
	}
	return 0, false
}

// isEmpty reports whether a status contains nothing that a controller had to
// observe.
func isEmpty(value any) bool {
	switch value := value.(type) {
	case map[string]any:
		for _, v := range value {
			if !isEmpty(v) {
				return false
			}
		}
		return true
	case []any:
		return len(value) == 0
	case string:
		return value == ""
	}
	return value == nil
}
