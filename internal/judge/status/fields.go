package status

import (
	"fmt"
	"strconv"
	"strings"
)

// deepest is the maximum depth below a status at which fields are read; lists
// count twice.
const deepest = 8

// fields reads the fields of a status recursively.
func (r *Signals) fields(path string, status map[string]any, depth int) {
	if depth > deepest {
		return
	}
	why, _ := status["message"].(string)
	for key, value := range status {
		if isPast(key) {
			r.past(path+key, key, value, depth)
			continue
		}
		switch value := value.(type) {
		case string:
			r.text(path+key, key, value, why, depth)
		case bool:
			r.flag(path+key, key, value, depth)
		case map[string]any:
			r.part(path, key, value, depth)
		case []any:
			r.list(path, key, value, depth)
		}
	}
}

func (r *Signals) part(path, key string, value map[string]any, depth int) {
	switch {
	case key == "conditions":
		r.conditionMap(path, value, depth)
	case !IsEmpty(value) && isErrorKey(key):
		r.add(Signal{Means: MeaningTrouble, weight: weightMedium, Text: path + key + " is set"})
	default:
		r.fields(path+key+".", value, depth+1)
		r.counters(path+key+".", nil, value, weightMedium)
	}
}

func (r *Signals) list(path, key string, items []any, depth int) {
	conditions := isConditions(key)
	switch {
	case conditions && len(items) == 0:
		r.add(Signal{Means: MeaningInProgress, weight: weightLow, Text: path + key + " is still empty"})
	case len(items) > 0 && (isErrorKey(key) || listsTrouble(key)):
		r.add(Signal{Means: MeaningTrouble, weight: weightMedium, Text: path + key + " is not empty"})
	}
	superseded := staleItems(items, r.generation)
	for i, item := range items {
		m, ok := item.(map[string]any)
		switch {
		case !ok || superseded[i]:
		case conditions:
			r.condition(path, m, depth)
		default:
			part := path + key + "[" + strconv.Itoa(i) + "]."
			r.fields(part, m, depth+2)
			r.counters(part, nil, m, weightMedium)
		}
	}
}

// isConditions reports whether a field holds conditions.
func isConditions(key string) bool {
	return key == "conditions" || strings.HasSuffix(key, "Conditions")
}

// past reads a field about the past. The last error, and the result of the last
// operation, count as current unless something contradicts them.
func (r *Signals) past(path, key string, value any, depth int) {
	if depth > 0 {
		return
	}
	switch value := value.(type) {
	case string:
		r.pastText(path, key, value)
	case map[string]any: // lastOperation: {state: Succeeded}
		for _, field := range []string{"state", "status", "phase", "result"} {
			if text, ok := value[field].(string); ok && firstWord(key) == "last" {
				r.lastEnded(key, text, path+"."+field+" is "+text)
			}
		}
	}
}

func (r *Signals) pastText(path, key, value string) {
	switch {
	case value == "":
	case isErrorKey(key), key == "lastErrorMessage":
		if !isNoError(value) {
			r.add(Signal{Means: MeaningTrouble, weight: weightNone, Text: path + ": " + value})
		}
	case firstWord(key) == "last" && isStateKey(lastWord(key)) && isName(value):
		r.lastEnded(key, value, path+" is "+value)
	}
}

// lastEnded reads the result of the last operation on an object or a part of
// it.
func (r *Signals) lastEnded(key, value, text string) {
	s := Signal{Means: r.phrase(value), weight: weightNone, Text: text}
	if s.Means > MeaningGood && hasWord(key, "operation", "update", "reconcile", "reconciliation", "sync", "apply", "deployment", "release") {
		s.weight = weightMedium
	}
	r.add(s)
}

// isPast reports whether a field is about the past.
func isPast(key string) bool {
	past, before := false, ""
	for word := range words(key) {
		switch word {
		case "last", "previous", "prev", "history", "old", "past", "initial":
			past = true
		case "observed", "known", "reported", "seen":
			if before == "last" { // lastObservedState is the current state
				past = false
			}
		}
		before = word
	}
	return past
}

// text reads a string field: phases, states, health and errors. why is the message
// beside it, or "".
func (r *Signals) text(path, key, value, why string, depth int) {
	if value == "" {
		return
	}
	switch last := lastWord(key); {
	case isStateKey(last):
		r.state(path, key, value, why, depth)
	case isErrorKey(key):
		if !isNoError(value) {
			r.add(Signal{Means: MeaningTrouble, weight: weightOfTrouble(depth), Text: path + ": " + value})
		}
	case depth > 1 && (key == "level" || key == "severity") && meaningOf(value) >= MeaningTrouble && !isWarning(value): // one message of several
		r.add(Signal{Means: MeaningTrouble, weight: weightMedium, Text: path + " is " + value})
	case last == "replicas":
		if got, want, ok := fraction(value); ok {
			r.count(key, got, want, weightOfTrouble(depth), path+" is "+value)
		}
	case depth == 0 && (key == "reason" || key == "message"):
		r.remark(path, key, value)
	}
}

// remark reads a reason or message about the whole object.
func (r *Signals) remark(path, key, value string) {
	s := Signal{Means: meaningOf(opening(value)), weight: weightLow, Text: path + ": " + value}
	switch {
	case s.Means >= MeaningTrouble:
	case key == "reason" && s.Means == MeaningNone: // a reason is usually given for problems
		s.Means, s.weight = MeaningInProgress, weightNone
	case s.Means == MeaningGood && len(strings.Fields(value)) <= 6 && !isIncomplete(value):
		s.weight = weightNone
	default:
		return
	}
	r.add(s)
}

// isStateKey reports whether a field names a state, by its last word.
func isStateKey(last string) bool {
	return oneOf(last, "phase", "state", "status", "health", "stage", "result", "outcome", "readiness", "availability", "progress",
		"lifecycle", "condition", "connection", "sync", "verdict", "robustness") ||
		wordMeaning(last) == MeaningGood // for fields such as compliant: NonCompliant
}

// listsTrouble reports whether a list contains failures: failedNamespaces,
// unreadyMembers.
func listsTrouble(key string) bool {
	first := firstWord(key)
	return oneOf(first, "failed", "failing", "unhealthy", "unready", "missing", "faulty") && lastWord(key) != first
}

// isErrorKey reports whether a field holds an error.
func isErrorKey(key string) bool {
	return oneOf(key, "errorMessage", "errorReason", "errorDescription", "errorDetails", "failureMessage", "failureReason", "failures") ||
		oneOf(lastWord(key), "error", "errors")
}

// state reads the name of a state, of a part with the message about it.
func (r *Signals) state(path, key, value, why string, depth int) {
	s := Signal{Means: r.phrase(value), weight: weightOfTrouble(depth), Text: path + " is " + value}
	if why != "" && depth > 0 && s.Means >= MeaningTrouble {
		s.Text += ": " + why
	}
	s.Degraded = lastWord(value) == "degraded"
	s.Final = r.seen && lastWord(value) == "failed"
	whole := depth == 0 && namesState(key)
	if done, ok := percentage(value); ok {
		r.progress(s, key, done)
		return
	}
	switch {
	case strings.EqualFold(value, "unknown") && (depth > 1 || !namesState(key) && !summarizesState(key)): // for a part, it means that nothing monitors it
		return
	case strings.EqualFold(value, "disabled") && !whole: // an optional part that is not enabled
		return
	case depth == 0 && isUndone(value):
		s.Means = MeaningTrouble
	case depth == 0 && r.oneShot && s.Means == MeaningTrouble && isFinalFailure(lastWord(value)):
		s.Means = MeaningFailed
	case depth == 0 && !whole && !r.oneShot && s.Means > MeaningGood && s.Means < MeaningFailed && !summarizesState(key): // such as printableStatus: one view of several
		s.weight = weightMedium
	case s.Means == MeaningGood:
		s.weight = r.reached(depth)
	case s.Means == MeaningNone:
		s = r.unknownState(s, value, whole)
	}
	r.add(s)
}

// reached returns the weight of a good state.
func (r *Signals) reached(depth int) weight {
	switch {
	case depth > 0:
		return weightNone
	case r.oneShot:
		return weightMedium
	}
	return weightLow
}

// progress reads a state that is a percentage. Percentages of availability are
// ignored, since the required value is unknown.
func (r *Signals) progress(s Signal, key string, done Meaning) {
	if lastWord(key) != "progress" {
		return
	}
	s.Means, s.weight = done, weightNone
	if done == MeaningInProgress { // may be about a part only
		s.weight = weightLow
	}
	r.add(s)
}

// unknownState reads a state that is not in the dictionary. A state that the spec
// asks for is good, and so is a participle. Any other state of the whole object
// may or may not mean ready.
func (r *Signals) unknownState(s Signal, value string, whole bool) Signal {
	switch {
	case r.desired[strings.ToLower(value)]:
		s.Means, s.weight = MeaningGood, weightLow
	case whole && isPositiveCondition(value) && !r.oneShot: // such as Created
		s.Means, s.weight = MeaningGood, weightNone
	case whole && len(value) <= 100 && !isParticiple(lastWord(value)):
		return Signal{Means: MeaningInProgress, weight: weightMedium, Text: s.Text, Hint: ", which may or may not mean ready"}
	}
	return s
}

// namesState reports whether a top-level field holds the object's state in a
// vocabulary of its own: an unknown word does not mean ready.
func namesState(key string) bool {
	return key == "status" || oneOf(lastWord(key), "phase", "state")
}

// summarizesState reports whether a field describes the whole object.
func summarizesState(key string) bool {
	return oneOf(strings.ToLower(key), "health", "healthstatus", "readiness", "currentstate", "currentstatus", "lifecyclestate", "currentphase")
}

// flag reads a boolean field by its name.
func (r *Signals) flag(path, key string, value bool, depth int) {
	means := meaningOf(key)
	text := fmt.Sprintf("%s is %t", path, value)
	switch last := lastWord(key); {
	case last == "active": // may be inactive by choice
	case depth == 0 && (key == "status" || key == "state"): // elsewhere a string
		r.state(path, key, fmt.Sprint(value), "", depth)
	case means == MeaningGood && value:
		r.add(Signal{Means: MeaningGood, weight: r.present(key, depth), Text: text})
	case means == MeaningGood:
		r.add(Signal{Means: MeaningInProgress, weight: missing(key, depth, depth == 0 && summarizesObject(last)), Text: text})
	case means == MeaningNone && !value && isPositiveCondition(key):
		r.add(Signal{Means: MeaningInProgress, weight: weightNone, Text: text})
	case value && means == MeaningInProgress && (depth > 0 || !hasWork(key)):
		r.add(Signal{Means: means, weight: weightLow, Text: text})
	case value:
		r.add(Signal{Means: means, weight: weightMedium, Text: text})
	}
}
