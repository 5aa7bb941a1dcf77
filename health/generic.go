package health

import (
	"fmt"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// generic reads a status whose kind is not known, by the words and numbers
// that controllers commonly write. It does not always have an answer.
func generic(obj *unstructured.Unstructured, columns []Column) (Assessment, bool) {
	given, ok := byWords(obj, columns)
	return held(obj, given), ok
}

// generic reads a status with the printer columns of its kind, where they are known.
func (a *Assessor) generic(obj *unstructured.Unstructured) (Assessment, bool) {
	return generic(obj, a.columnsOf(obj.GroupVersionKind()))
}

func byWords(obj *unstructured.Unstructured, columns []Column) (Assessment, bool) {
	status, isMap := obj.Object["status"].(map[string]any)
	if word, ok := obj.Object["status"].(string); ok { // a few CRDs know one word only
		status, isMap = map[string]any{"state": word}, true
	}
	if !isMap || isEmpty(status) {
		return noStatus(obj), true
	}
	if a, stale := behind(obj, status); stale {
		return a, true
	}
	spec, _ := obj.Object["spec"].(map[string]any)
	r := read(obj, spec, status)
	r.columns(obj.Object, columns)
	if r.idle != "" && r.bad.means < fatal {
		if asker := whoAsksForIdle(obj, spec); asker != "" {
			return Assessment{Verdict: Ready, Health: Suspended, Reason: r.idle + ", as " + asker + " asks", Rule: "generic"}, true
		}
	}
	return r.decide()
}

// read collects what a status says.
func read(obj *unstructured.Unstructured, spec, status map[string]any) reading {
	r := reading{generation: obj.GetGeneration(), oneShot: isOneShot(obj.GetKind())}
	seen, dated := integer(status["observedGeneration"])
	r.seen = dated && seen >= r.generation
	r.asked = askedStates(spec)
	r.unfinished(status)
	r.fields("", status, 0)
	r.targets(status)
	r.parents(spec, status)
	r.counters("", spec, status, certain)
	r.unconfirmed(status)
	r.labels(obj)
	return r
}

// complaint is what a status says is wrong or not done yet, and how grave that
// is; "" for nothing.
func complaint(obj *unstructured.Unstructured) (string, Grade) {
	status, _ := obj.Object["status"].(map[string]any)
	spec, _ := obj.Object["spec"].(map[string]any)
	if r := read(obj, spec, status); r.isBad() {
		return r.bad.text, r.bad.grade()
	}
	return "", Ungraded
}

// noStatus is the verdict before a controller has written anything. What runs
// on a schedule has nothing to write before its hour comes.
func noStatus(obj *unstructured.Unstructured) Assessment {
	if isSchedule(obj.GetKind()) {
		return Assessment{Verdict: Ready, Reason: "it has not been due yet", Rule: "generic"}
	}
	return Assessment{Verdict: Progressing, Reason: "it has no status yet", Rule: "no status", NoStatus: true}
}

// behind tells whether the controller has not seen the newest spec yet.
func behind(obj *unstructured.Unstructured, status map[string]any) (Assessment, bool) {
	seen, ok := observedGeneration(status)
	if !ok || seen >= obj.GetGeneration() {
		return Assessment{}, false
	}
	if seen < 1 { // some begin with -1
		return Assessment{Verdict: Progressing, Rule: "observedGeneration", Reason: "its controller has not seen it yet"}, true
	}
	return Assessment{
		Verdict: Progressing, Rule: "observedGeneration",
		Reason: fmt.Sprintf("its controller has seen generation %d, and this is generation %d", seen, obj.GetGeneration()),
	}, true
}

// observedGeneration is the generation that a status says it is about, under any
// of the names that controllers use.
func observedGeneration(status map[string]any) (int64, bool) {
	for _, key := range []string{"observedGeneration", "reconciledGeneration", "lastReconciledGeneration", "lastObservedGeneration", "processedGeneration"} {
		if seen, ok := integer(status[key]); ok {
			return seen, true
		}
	}
	generations, _ := status["generations"].(map[string]any)
	return integer(generations["reconciled"])
}

// isOneShot tells whether objects of the kind run to an end. A schedule of such
// does not.
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

// isSchedule tells whether objects of the kind wait for their time.
func isSchedule(kind string) bool {
	for word := range words(kind) {
		switch word {
		case "cron", "schedule", "scheduled", "periodic", "recurring":
			return true
		}
	}
	return false
}

// unfinished tells of what runs to an end that it has begun and not ended.
func (r *reading) unfinished(status map[string]any) {
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
		r.add(sign{means: busy, rank: faint, text: begun + " is set, and no time of completion"})
	}
}

// integer reads a number; some controllers write theirs as text.
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

// isEmpty tells whether a status holds nothing that a controller would have
// had to find out.
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
