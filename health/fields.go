package health

import (
	"fmt"
	"strconv"
	"strings"
)

// deepest is the maximum depth below a status at which fields are read; lists
// count twice.
const deepest = 8

// fields reads the fields of a status recursively.
func (r *statusSignals) fields(path string, status map[string]any, depth int) {
	if depth > deepest {
		return
	}
	for key, value := range status {
		if isPast(key) {
			r.past(path+key, key, value, depth)
			continue
		}
		switch value := value.(type) {
		case string:
			r.text(path+key, key, value, depth)
		case bool:
			r.flag(path+key, key, value, depth)
		case map[string]any:
			r.part(path, key, value, depth)
		case []any:
			r.list(path, key, value, depth)
		}
	}
}

func (r *statusSignals) part(path, key string, value map[string]any, depth int) {
	switch {
	case key == "conditions":
		r.conditionMap(path, value, depth)
	case !isEmpty(value) && isErrorKey(key):
		r.add(signal{means: meaningTrouble, weight: weightMedium, text: path + key + " is set"})
	default:
		r.fields(path+key+".", value, depth+1)
		r.counters(path+key+".", nil, value, weightMedium)
	}
}

func (r *statusSignals) list(path, key string, items []any, depth int) {
	conditions := key == "conditions" || strings.HasSuffix(key, "Conditions")
	switch {
	case conditions && len(items) == 0:
		r.add(signal{means: meaningInProgress, weight: weightLow, text: path + key + " is still empty"})
	case len(items) > 0 && (isErrorKey(key) || listsTrouble(key)):
		r.add(signal{means: meaningTrouble, weight: weightMedium, text: path + key + " is not empty"})
	}
	gone := staleItems(items, r.generation)
	for i, item := range items {
		m, ok := item.(map[string]any)
		switch {
		case !ok || gone[i]:
		case conditions:
			r.condition(path, m, depth)
		default:
			part := path + key + "[" + strconv.Itoa(i) + "]."
			r.fields(part, m, depth+2)
			r.counters(part, nil, m, weightMedium)
		}
	}
}

// past reads a field about the past. The last error, and the result of the last
// operation, count as current unless something contradicts them.
func (r *statusSignals) past(path, key string, value any, depth int) {
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

func (r *statusSignals) pastText(path, key, value string) {
	switch {
	case value == "":
	case isErrorKey(key), key == "lastErrorMessage":
		if !isNoError(value) {
			r.add(signal{means: meaningTrouble, weight: weightNone, text: path + ": " + value})
		}
	case firstWord(key) == "last" && isStateKey(lastWord(key)) && isName(value):
		r.lastEnded(key, value, path+" is "+value)
	}
}

// lastEnded reads the result of the last operation on an object or a part of
// it.
func (r *statusSignals) lastEnded(key, value, text string) {
	s := signal{means: r.phrase(value), weight: weightNone, text: text}
	for word := range words(key) {
		switch word {
		case "operation", "update", "reconcile", "reconciliation", "sync", "apply", "deployment", "release":
			if s.means > meaningGood {
				s.weight = weightMedium
			}
		}
	}
	r.add(s)
}

// firstWord returns the first word of a name.
func firstWord(name string) string {
	for word := range words(name) {
		return word
	}
	return ""
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

// text reads a string field: phases, states, health and errors.
func (r *statusSignals) text(path, key, value string, depth int) {
	if value == "" {
		return
	}
	switch last := lastWord(key); {
	case isStateKey(last):
		r.state(path, key, value, depth)
	case isErrorKey(key):
		if !isNoError(value) {
			r.add(signal{means: meaningTrouble, weight: weightAtDepth(depth), text: path + ": " + value})
		}
	case depth > 1 && (key == "level" || key == "severity") && meaningOf(value) >= meaningTrouble && !isWarning(value): // one message of several
		r.add(signal{means: meaningTrouble, weight: weightMedium, text: path + " is " + value})
	case last == "replicas":
		if got, want, ok := fraction(value); ok {
			r.count(key, got, want, weightAtDepth(depth), path+" is "+value)
		}
	case depth == 0 && (key == "reason" || key == "message"):
		r.remark(path, key, value)
	}
}

// remark reads a reason or message about the whole object.
func (r *statusSignals) remark(path, key, value string) {
	s := signal{means: meaningOf(opening(value)), weight: weightLow, text: path + ": " + value}
	switch {
	case s.means >= meaningTrouble:
	case key == "reason" && s.means == meaningNone: // a reason is usually given for problems
		s.means, s.weight = meaningInProgress, weightNone
	case s.means == meaningGood && len(strings.Fields(value)) <= 6 && !isIncomplete(value):
		s.weight = weightNone
	default:
		return
	}
	r.add(s)
}

// isNoError reports whether the value of an error field means "no error".
func isNoError(value string) bool {
	switch strings.ToLower(value) {
	case "none", "nil", "null", "n/a", "-", "{}", "[]", "false", "0":
		return true
	}
	return len(strings.Fields(value)) <= 2 && meaningOf(value) == meaningGood
}

func isWarning(value string) bool { return strings.HasPrefix(strings.ToLower(value), "warn") }

// opening returns the first words of a message, which indicate its kind. It
// returns short messages whole.
func opening(message string) string {
	fields := strings.Fields(message)
	if len(fields) <= 6 {
		return message
	}
	return strings.Join(fields[:min(2, len(fields))], " ")
}

// isStateKey reports whether a field names a state, by its last word.
func isStateKey(last string) bool {
	switch last {
	case "phase", "state", "status", "health", "stage", "result", "outcome", "readiness", "availability", "progress",
		"lifecycle", "condition", "connection", "sync", "verdict", "robustness":
		return true
	}
	return wordMeaning(last) == meaningGood // for fields such as compliant: NonCompliant
}

// listsTrouble reports whether a list contains failures: failedNamespaces,
// unreadyMembers.
func listsTrouble(key string) bool {
	switch firstWord(key) {
	case "failed", "failing", "unhealthy", "unready", "missing", "faulty":
		return lastWord(key) != firstWord(key)
	}
	return false
}

// isErrorKey reports whether a field holds an error.
func isErrorKey(key string) bool {
	switch key {
	case "errorMessage", "errorReason", "errorDescription", "errorDetails", "failureMessage", "failureReason", "failures":
		return true
	}
	switch lastWord(key) {
	case "error", "errors":
		return true
	}
	return false
}

// state reads the name of a state.
func (r *statusSignals) state(path, key, value string, depth int) {
	s := signal{means: r.phrase(value), weight: weightAtDepth(depth), text: path + " is " + value}
	s.degraded = lastWord(value) == "degraded"
	s.final = r.seen && lastWord(value) == "failed"
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
		s.means = meaningTrouble
	case depth == 0 && r.oneShot && s.means == meaningTrouble && isFinalFailure(lastWord(value)):
		s.means = meaningFailed
	case depth == 0 && !whole && !r.oneShot && s.means > meaningGood && s.means < meaningFailed && !summarizesState(key): // such as printableStatus: one view of several
		s.weight = weightMedium
	case s.means == meaningGood:
		s.weight = r.reached(depth)
	case s.means == meaningNone:
		s = r.unknownState(s, value, whole)
	}
	r.add(s)
}

// reached returns the rank of a good state.
func (r *statusSignals) reached(depth int) weight {
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
func (r *statusSignals) progress(s signal, key string, done meaning) {
	if lastWord(key) != "progress" {
		return
	}
	s.means, s.weight = done, weightNone
	if done == meaningInProgress { // may be about a part only
		s.weight = weightLow
	}
	r.add(s)
}

// unknownState reads a state that is not in the dictionary. A state that the spec
// asks for is good, and so is a participle. Any other state of the whole object
// may or may not mean ready.
func (r *statusSignals) unknownState(s signal, value string, whole bool) signal {
	switch {
	case r.desired[strings.ToLower(value)]:
		s.means, s.weight = meaningGood, weightLow
	case whole && isPositiveCondition(value) && !r.oneShot: // such as Created
		s.means, s.weight = meaningGood, weightNone
	case whole && len(value) <= 100 && !isParticiple(lastWord(value)):
		return signal{means: meaningInProgress, weight: weightMedium, text: s.text, hint: ", which may or may not mean ready"}
	}
	return s
}

// namesState reports whether a top-level field holds the object's state in a
// vocabulary of its own: an unknown word does not mean ready.
func namesState(key string) bool {
	switch lastWord(key) {
	case "phase", "state":
		return true
	}
	return key == "status"
}

// summarizesState reports whether a field describes the whole object.
func summarizesState(key string) bool {
	switch strings.ToLower(key) {
	case "health", "healthstatus", "readiness", "currentstate", "currentstatus", "lifecyclestate", "currentphase":
		return true
	}
	return false
}

// isName reports whether a value is the name of a state, not a sentence.
func isName(value string) bool {
	return len(value) <= 40 && !strings.ContainsAny(value, " .,:/")
}

// isParticiple reports whether a name is a past participle: "Imported".
func isParticiple(name string) bool {
	name = strings.ToLower(name)
	switch name {
	case "found", "built", "met", "sent", "written":
		return true
	}
	return strings.HasSuffix(name, "ed")
}

// phrase returns the meaning of a state's name. For one-shot kinds, running
// means not ready.
func (r *statusSignals) phrase(value string) meaning {
	if len(value) > 200 || isHash(value) {
		return meaningNone
	}
	switch strings.ToLower(value) {
	case "true", "yes", "enabled":
		return meaningGood
	case "current", "latest", "nominal", "live", "steady", "idle", "standby", "in-use", "in_use", "inuse":
		if !r.oneShot {
			return meaningGood
		}
	case "false", "no", "new":
		return meaningInProgress
	case "disabled":
		return meaningPaused
	case "critical", "impaired", "poor", "bad", "suspect", "quarantined", "faulty", "faulted", "abnormal":
		return meaningTrouble
	}
	switch lastWord(value) {
	case "scheduled", "planned", "prepared", "allocated":
		return meaningInProgress
	case "required", "needed": // such as ApprovalRequired
		if meaningOf(value) == meaningNone && !isNegated(value) {
			return meaningInProgress
		}
	}
	if r.oneShot && isUnderWay(lastWord(value)) {
		return meaningInProgress
	}
	if got, want, ok := fraction(value); ok {
		return compareCount(got, want)
	}
	means := meaningOf(value)
	if means == meaningNone {
		means = r.idiom(value)
	}
	if means == meaningGood && isIncomplete(value) {
		return meaningInProgress
	}
	return means
}

// isFinalFailure reports whether a word means a final failure of a one-shot kind.
// Other kinds recover from Error.
func isFinalFailure(word string) bool {
	switch word {
	case "error", "errored", "inconclusive", "denied", "rejected", "invalid", "killed", "expired":
		return true
	}
	return false
}

// idiom returns the meaning of phrases whose single words have none.
func (r *statusSignals) idiom(value string) meaning {
	before, last := "", ""
	for word := range words(value) {
		before, last = last, word
		if word == "latest" && !r.oneShot { // such as AtLatestKnown
			return meaningGood
		}
	}
	if before != "no" {
		return meaningNone
	}
	switch last {
	case "quorum", "leader", "primary", "master", "endpoints", "backends", "members", "nodes", "replicas", "capacity", "data":
		return meaningTrouble
	}
	return meaningNone
}

// isUndone reports whether a state means that a deletion or rollback has
// finished: ROLLBACK_COMPLETE, Deleted.
func isUndone(value string) bool {
	undoes, before := false, ""
	for word := range words(value) {
		switch word {
		case "rollback", "rolledback", "delete", "deletion", "deleted", "destroyed", "terminated":
			undoes = true
		case "back":
			undoes = undoes || before == "rolled"
		}
		before = word
	}
	if !undoes || isNegated(value) {
		return false
	}
	switch before {
	case "rolledback", "deleted", "destroyed", "terminated", "back":
		return true
	}
	return wordMeaning(before) == meaningGood
}

// isNegated reports whether a phrase contains a negation: NoActionRequired.
func isNegated(value string) bool {
	for word := range words(value) {
		if isNegation(word) {
			return true
		}
	}
	return false
}

// isHash reports whether a value is a commit or checksum, whose letters may
// spell a word by chance.
func isHash(value string) bool {
	return len(value) >= 7 && strings.ContainsAny(value, "0123456789") &&
		strings.Trim(strings.TrimPrefix(value, "sha256:"), "0123456789abcdef") == ""
}

// isUnderWay reports whether a word means, for one-shot kinds, not finished
// yet.
func isUnderWay(name string) bool {
	switch strings.ToLower(name) {
	case "running", "active", "created", "started", "scheduled", "accepted", "initialized":
		return true
	}
	return false
}

// flag reads a boolean field by its name.
func (r *statusSignals) flag(path, key string, value bool, depth int) {
	means := meaningOf(key)
	text := fmt.Sprintf("%s is %t", path, value)
	switch last := lastWord(key); {
	case last == "active": // may be inactive by choice
	case depth == 0 && (key == "status" || key == "state"): // elsewhere a string
		r.state(path, key, fmt.Sprint(value), depth)
	case means == meaningGood && value:
		r.add(signal{means: meaningGood, weight: r.present(key, depth), text: text})
	case means == meaningGood:
		r.add(signal{means: meaningInProgress, weight: missing(key, depth, depth == 0 && summarizesObject(last)), text: text})
	case means == meaningNone && !value && isPositiveCondition(key):
		r.add(signal{means: meaningInProgress, weight: weightNone, text: text})
	case value && means == meaningInProgress && depth == 0 && hasWork(key):
		r.add(signal{means: means, weight: weightMedium, text: text})
	case value && means == meaningInProgress:
		r.add(signal{means: means, weight: weightLow, text: text})
	case value:
		r.add(signal{means: means, weight: weightMedium, text: text})
	}
}
