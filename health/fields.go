package health

import (
	"fmt"
	"strconv"
	"strings"
)

// deepest is how far below a status its parts are read; lists count double.
const deepest = 8

// fields reads the fields of a status, and of what is in it.
func (r *reading) fields(path string, status map[string]any, depth int) {
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

func (r *reading) part(path, key string, value map[string]any, depth int) {
	switch {
	case key == "conditions":
		r.conditionMap(path, value, depth)
	case !isEmpty(value) && isErrorKey(key):
		r.add(sign{means: trouble, rank: mild, text: path + key + " is set"})
	default:
		r.fields(path+key+".", value, depth+1)
		r.counters(path+key+".", nil, value, mild)
	}
}

func (r *reading) list(path, key string, items []any, depth int) {
	conditions := key == "conditions" || strings.HasSuffix(key, "Conditions")
	switch {
	case conditions && len(items) == 0:
		r.add(sign{means: busy, rank: faint, text: path + key + " is still empty"})
	case len(items) > 0 && isErrorKey(key):
		r.add(sign{means: trouble, rank: mild, text: path + key + " is not empty"})
	}
	gone := leftOver(items, r.generation)
	for i, item := range items {
		m, ok := item.(map[string]any)
		switch {
		case !ok || gone[i]:
		case conditions:
			r.condition(path, m, depth)
		default:
			part := path + key + "[" + strconv.Itoa(i) + "]."
			r.fields(part, m, depth+2)
			r.counters(part, nil, m, mild)
		}
	}
}

// past reads a field that speaks of what was before. The last error is that of
// now where nothing says that it is over.
func (r *reading) past(path, key string, value any, depth int) {
	text, _ := value.(string)
	if text == "" || depth > 0 || !isErrorKey(key) && key != "lastErrorMessage" {
		return
	}
	r.add(sign{means: trouble, rank: aside, text: path + ": " + text})
}

// isPast tells whether a field speaks of what was before.
func isPast(key string) bool {
	for word := range words(key) {
		switch word {
		case "last", "previous", "prev", "history", "old", "past", "initial":
			return true
		}
	}
	return false
}

// text reads a string field: phase, state, health and the like, and errors.
func (r *reading) text(path, key, value string, depth int) {
	if value == "" {
		return
	}
	switch last := lastWord(key); {
	case isStateKey(last):
		r.state(path, key, value, depth)
	case isErrorKey(key):
		r.add(sign{means: trouble, rank: share(depth), text: path + ": " + value})
	case last == "replicas":
		if got, want, ok := fraction(value); ok {
			r.count(key, got, want, share(depth), path+" is "+value)
		}
	case depth == 0 && (key == "reason" || key == "message"):
		if means := meaningOf(opening(value)); means >= trouble {
			r.add(sign{means: means, rank: faint, text: path + ": " + value})
		}
	}
}

// opening gives the first words of a message, which tell what kind it is.
func opening(message string) string {
	fields := strings.Fields(message)
	return strings.Join(fields[:min(2, len(fields))], " ")
}

// isStateKey tells by its last word whether a field names a state.
func isStateKey(last string) bool {
	switch last {
	case "phase", "state", "status", "health", "stage", "result", "outcome", "readiness", "availability", "progress",
		"lifecycle", "condition", "connection", "sync":
		return true
	}
	return wordMeaning(last) == good // compliant: NonCompliant
}

// isErrorKey tells whether a field holds what is wrong.
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
func (r *reading) state(path, key, value string, depth int) {
	s := sign{means: r.phrase(value), rank: share(depth), text: path + " is " + value}
	done, isPercentage := percentage(value)
	switch {
	case isPercentage && lastWord(key) != "progress": // of an availability, none tells what is enough
		return
	case isPercentage && done == busy: // it may tell of a part only
		s.means, s.rank = done, faint
	case isPercentage:
		s.means, s.rank = done, aside
	case depth == 0 && isUndone(value):
		s.means = trouble
	case s.means == good:
		s.rank = aside
		if depth == 0 {
			s.rank = faint
		}
		if depth == 0 && r.oneShot {
			s.rank = mild
		}
	case s.means == silent && depth == 0 && (key == "phase" || key == "state") && isName(value) && !isParticiple(value):
		s = sign{means: busy, rank: mild, text: s.text, hint: ", which may or may not mean ready"}
	case depth > 1 && strings.EqualFold(value, "unknown"): // of a part, it says that nobody looks at it
		return
	}
	r.add(s)
}

// isName tells whether a value is the name of a state and not a sentence.
func isName(value string) bool {
	return len(value) <= 40 && !strings.ContainsAny(value, " .,:/")
}

// isParticiple tells whether a name says what has been done: "Imported".
func isParticiple(name string) bool { return strings.HasSuffix(strings.ToLower(name), "ed") }

// phrase is the meaning of a state's name. One-shot kinds are not there while
// they run.
func (r *reading) phrase(value string) meaning {
	if len(value) > 200 {
		return silent
	}
	switch strings.ToLower(value) {
	case "true", "yes", "enabled":
		return good
	case "current", "latest", "nominal", "live", "steady", "idle", "standby", "in-use", "in_use", "inuse":
		if !r.oneShot {
			return good
		}
	case "false", "no", "new":
		return busy
	case "critical", "impaired", "poor", "bad", "suspect", "quarantined", "faulty", "faulted":
		return trouble
	}
	switch lastWord(value) {
	case "scheduled", "planned", "prepared", "allocated":
		return busy
	case "required", "needed": // ApprovalRequired
		if meaningOf(value) == silent && !isNegated(value) {
			return busy
		}
	}
	if r.oneShot && isUnderWay(lastWord(value)) {
		return busy
	}
	if got, want, ok := fraction(value); ok {
		return enough(got, want)
	}
	means := meaningOf(value)
	if means == good && isShort(value) {
		return busy
	}
	return means
}

// isUndone tells of states that say of what takes an object away, or takes a
// change of it back, that it is over: ROLLBACK_COMPLETE, Deleted.
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
	return wordMeaning(before) == good
}

// isNegated tells whether a phrase says no anywhere: NoActionRequired.
func isNegated(value string) bool {
	for word := range words(value) {
		if isNegation(word) {
			return true
		}
	}
	return false
}

// isUnderWay tells of words that mean, of what runs to an end, that it has not
// come there.
func isUnderWay(name string) bool {
	switch strings.ToLower(name) {
	case "running", "active", "created", "started", "scheduled", "accepted", "initialized":
		return true
	}
	return false
}

// flag reads a boolean field whose name tells.
func (r *reading) flag(path, key string, value bool, depth int) {
	means := meaningOf(key)
	text := fmt.Sprintf("%s is %t", path, value)
	switch last := lastWord(key); {
	case last == "active": // or inactive by choice
	case means == good && value:
		r.add(sign{means: good, rank: r.present(key, depth), text: text})
	case means == good:
		r.add(sign{means: busy, rank: missing(key, depth, depth == 0), text: text})
	case value && means == busy && depth == 0 && hasWork(key):
		r.add(sign{means: means, rank: mild, text: text})
	case value && means == busy:
		r.add(sign{means: means, rank: faint, text: text})
	case value:
		r.add(sign{means: means, rank: mild, text: text})
	}
}
