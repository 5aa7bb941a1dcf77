package status

import (
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Read reads the status of an object, and related parts of its spec, labels and annotations.
// columns are the printer columns of its kind that show the state; nil if unknown.
func Read(obj *unstructured.Unstructured, status map[string]any, columns []Column) *Signals {
	spec := Spec(obj)
	r := &Signals{generation: obj.GetGeneration(), oneShot: isOneShot(obj.GetKind())}
	seen, dated := Integer(status["observedGeneration"])
	r.seen = dated && seen >= r.generation
	r.desired = desiredStates(spec)
	r.unfinished(status)
	r.fields("", status, 0)
	r.targets(status)
	r.parents(spec, status)
	r.counters("", spec, status, weightHigh)
	r.unconfirmed(status)
	r.labels(obj)
	r.columns(columns)
	return r
}

// unfinished adds a signal for a one-shot kind that has started and not finished.
func (r *Signals) unfinished(status map[string]any) {
	if !r.oneShot {
		return
	}
	startedKey, ended := "", false
	for _, key := range []string{"startTime", "startTimestamp", "startedAt"} {
		if !IsEmpty(status[key]) {
			startedKey = key
		}
	}
	for _, key := range []string{"completionTime", "completionTimestamp", "finishedAt", "finishTime", "endTime", "stopTime", "failureTime"} {
		ended = ended || !IsEmpty(status[key])
	}
	r.ended = ended
	if startedKey != "" && !ended {
		r.add(Signal{Means: MeaningInProgress, weight: weightLow, Text: startedKey + " is set, but no completion time"})
	}
}

// desiredStates returns the states that a spec asks for, in lower case: "primary"
// for replicationState: primary.
func desiredStates(spec map[string]any) map[string]bool {
	desired := map[string]bool{}
	for key, value := range spec {
		if text, ok := value.(string); ok && isStateKey(lastWord(key)) {
			desired[strings.ToLower(text)] = true
		}
	}
	return desired
}

// isOneShot reports whether objects of the kind run to completion. Schedules do
// not.
func isOneShot(kind string) bool {
	return !IsSchedule(kind) &&
		oneOf(lastWord(kind), "job", "run", "task", "workflow", "build", "backup", "restore", "migration", "test", "scan", "execution", "analysis",
			"operation", "request", "upgrade", "snapshot", "import", "export", "experiment", "evaluation", "promotion", "trial")
}

// IsSchedule reports whether objects of the kind run on a schedule.
func IsSchedule(kind string) bool {
	return hasWord(kind, "cron", "schedule", "scheduled", "periodic", "recurring")
}

// unconfirmed reads the conditions of Crossplane's runtime, including composed
// kinds: Synced means that the provider was called, and only Ready, which comes
// later, that the external resource exists.
func (r *Signals) unconfirmed(status map[string]any) {
	synced, readySet := false, false
	for _, c := range Conditions(status) {
		synced = synced || c["type"] == "Synced" && c["reason"] == "ReconcileSuccess"
		readySet = readySet || c["type"] == "Ready"
	}
	if synced && !readySet {
		r.add(Signal{Means: MeaningInProgress, weight: weightLow, Text: "condition Synced is True (ReconcileSuccess), and condition Ready is not set yet"})
	}
}
