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
	case len(items) > 0 && (isErrorKey(key) || listsTrouble(key)):
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

// past reads a field about what was before. The last error, and how the last
// operation ended, are those of now where nothing says that it is over.
func (r *reading) past(path, key string, value any, depth int) {
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

func (r *reading) pastText(path, key, value string) {
	switch {
	case value == "":
	case isErrorKey(key), key == "lastErrorMessage":
		if !isNoError(value) {
			r.add(sign{means: trouble, rank: aside, text: path + ": " + value})
		}
	case firstWord(key) == "last" && isStateKey(lastWord(key)) && isName(value):
		r.lastEnded(key, value, path+" is "+value)
	}
}

// lastEnded reads how the last operation on an object, or on a part of it, ended.
func (r *reading) lastEnded(key, value, text string) {
	s := sign{means: r.phrase(value), rank: aside, text: text}
	for word := range words(key) {
		switch word {
		case "operation", "update", "reconcile", "reconciliation", "sync", "apply", "deployment", "release":
			if s.means > good {
				s.rank = mild
			}
		}
	}
	r.add(s)
}

// firstWord is the word that a name begins with.
func firstWord(name string) string {
	for word := range words(name) {
		return word
	}
	return ""
}

// isPast tells whether a field speaks of what was before.
func isPast(key string) bool {
	past, before := false, ""
	for word := range words(key) {
		switch word {
		case "last", "previous", "prev", "history", "old", "past", "initial":
			past = true
		case "observed", "known", "reported", "seen":
			if before == "last" { // lastObservedState is the state now
				past = false
			}
		}
		before = word
	}
	return past
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
		if !isNoError(value) {
			r.add(sign{means: trouble, rank: share(depth), text: path + ": " + value})
		}
	case depth > 1 && (key == "level" || key == "severity") && meaningOf(value) >= trouble && !isWarning(value): // of one message of several
		r.add(sign{means: trouble, rank: mild, text: path + " is " + value})
	case last == "replicas":
		if got, want, ok := fraction(value); ok {
			r.count(key, got, want, share(depth), path+" is "+value)
		}
	case depth == 0 && (key == "reason" || key == "message"):
		r.remark(path, key, value)
	}
}

// remark reads a reason or a message about the whole object.
func (r *reading) remark(path, key, value string) {
	s := sign{means: meaningOf(opening(value)), rank: faint, text: path + ": " + value}
	switch {
	case s.means >= trouble:
	case key == "reason" && s.means == silent: // a reason is given for what is not as it should be
		s.means, s.rank = busy, aside
	case s.means == good && len(strings.Fields(value)) <= 6 && !isShort(value):
		s.rank = aside
	default:
		return
	}
	r.add(s)
}

// isNoError reports whether the value of an error field says that there is none.
func isNoError(value string) bool {
	switch strings.ToLower(value) {
	case "none", "nil", "null", "n/a", "-", "{}", "[]", "false", "0":
		return true
	}
	return len(strings.Fields(value)) <= 2 && meaningOf(value) == good
}

func isWarning(value string) bool { return strings.HasPrefix(strings.ToLower(value), "warn") }

// opening gives the first words of a message, which say what kind it is. A short
// message is read whole.
func opening(message string) string {
	fields := strings.Fields(message)
	if len(fields) <= 6 {
		return message
	}
	return strings.Join(fields[:min(2, len(fields))], " ")
}

// isStateKey tells by its last word whether a field names a state.
func isStateKey(last string) bool {
	switch last {
	case "phase", "state", "status", "health", "stage", "result", "outcome", "readiness", "availability", "progress",
		"lifecycle", "condition", "connection", "sync", "verdict", "robustness":
		return true
	}
	return wordMeaning(last) == good // compliant: NonCompliant
}

// listsTrouble reports whether a list holds what is not as it should be:
// failedNamespaces, unreadyMembers.
func listsTrouble(key string) bool {
	switch firstWord(key) {
	case "failed", "failing", "unhealthy", "unready", "missing", "faulty":
		return lastWord(key) != firstWord(key)
	}
	return false
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
	s.degraded = lastWord(value) == "degraded"
	s.final = r.seen && lastWord(value) == "failed"
	whole := depth == 0 && namesState(key)
	if done, ok := percentage(value); ok {
		r.progress(s, key, done)
		return
	}
	switch {
	case strings.EqualFold(value, "unknown") && (depth > 1 || !namesState(key) && !sumsUpState(key)): // of a part, it says that nothing looks at it
		return
	case strings.EqualFold(value, "disabled") && !whole: // a part that was not asked for
		return
	case depth == 0 && isUndone(value):
		s.means = trouble
	case depth == 0 && r.oneShot && s.means == trouble && endsBadly(lastWord(value)):
		s.means = fatal
	case depth == 0 && !whole && !r.oneShot && s.means > good && s.means < fatal && !sumsUpState(key): // printableStatus: one view of several
		s.rank = mild
	case s.means == good:
		s.rank = r.reached(depth)
	case s.means == silent:
		s = r.unheard(s, value, whole)
	}
	r.add(s)
}

// reached is the rank of a state that is good.
func (r *reading) reached(depth int) rank {
	switch {
	case depth > 0:
		return aside
	case r.oneShot:
		return mild
	}
	return faint
}

// progress reads a state that is a percentage. Of an availability, none says what
// is enough.
func (r *reading) progress(s sign, key string, done meaning) {
	if lastWord(key) != "progress" {
		return
	}
	s.means, s.rank = done, aside
	if done == busy { // it may be about a part only
		s.rank = faint
	}
	r.add(s)
}

// unheard reads a state whose name is not in the dictionary: one that the spec
// asks for is good, and so is one that says what has been done; another one of the
// whole object may or may not mean ready.
func (r *reading) unheard(s sign, value string, whole bool) sign {
	switch {
	case r.asked[strings.ToLower(value)]:
		s.means, s.rank = good, faint
	case whole && soundsGood(value) && !r.oneShot: // Created
		s.means, s.rank = good, aside
	case whole && len(value) <= 100 && !isParticiple(lastWord(value)):
		return sign{means: busy, rank: mild, text: s.text, hint: ", which may or may not mean ready"}
	}
	return s
}

// namesState reports whether a field at the top of a status says in a word of
// its own how the object is: a word that is not known does not mean ready.
func namesState(key string) bool {
	switch lastWord(key) {
	case "phase", "state":
		return true
	}
	return key == "status"
}

// sumsUpState reports whether a field says how all of an object is.
func sumsUpState(key string) bool {
	switch strings.ToLower(key) {
	case "health", "healthstatus", "readiness", "currentstate", "currentstatus", "lifecyclestate", "currentphase":
		return true
	}
	return false
}

// isName tells whether a value is the name of a state and not a sentence.
func isName(value string) bool {
	return len(value) <= 40 && !strings.ContainsAny(value, " .,:/")
}

// isParticiple tells whether a name says what has been done: "Imported".
func isParticiple(name string) bool {
	name = strings.ToLower(name)
	switch name {
	case "found", "built", "met", "sent", "written":
		return true
	}
	return strings.HasSuffix(name, "ed")
}

// phrase is the meaning of a state's name. One-shot kinds are not there while
// they run.
func (r *reading) phrase(value string) meaning {
	if len(value) > 200 || isHash(value) {
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
	case "disabled":
		return idle
	case "critical", "impaired", "poor", "bad", "suspect", "quarantined", "faulty", "faulted", "abnormal":
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
	if means == silent {
		means = r.idiom(value)
	}
	if means == good && isShort(value) {
		return busy
	}
	return means
}

// endsBadly reports whether a word says of what runs to an end that it ended, and
// not well. Of what goes on for ever, Error passes.
func endsBadly(word string) bool {
	switch word {
	case "error", "errored", "inconclusive", "denied", "rejected", "invalid", "killed", "expired":
		return true
	}
	return false
}

// idiom is the meaning of phrases whose words mean nothing alone.
func (r *reading) idiom(value string) meaning {
	before, last := "", ""
	for word := range words(value) {
		before, last = last, word
		if word == "latest" && !r.oneShot { // AtLatestKnown
			return good
		}
	}
	if before != "no" {
		return silent
	}
	switch last {
	case "quorum", "leader", "primary", "master", "endpoints", "backends", "members", "nodes", "replicas", "capacity", "data":
		return trouble
	}
	return silent
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

// isHash reports whether a value is a commit or a checksum, whose letters may
// happen to spell a word.
func isHash(value string) bool {
	return len(value) >= 7 && strings.ContainsAny(value, "0123456789") &&
		strings.Trim(strings.TrimPrefix(value, "sha256:"), "0123456789abcdef") == ""
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
	case depth == 0 && (key == "status" || key == "state"): // a word to others
		r.state(path, key, fmt.Sprint(value), depth)
	case means == good && value:
		r.add(sign{means: good, rank: r.present(key, depth), text: text})
	case means == good:
		r.add(sign{means: busy, rank: missing(key, depth, depth == 0 && sumsUp(last)), text: text})
	case means == silent && !value && soundsGood(key):
		r.add(sign{means: busy, rank: aside, text: text})
	case value && means == busy && depth == 0 && hasWork(key):
		r.add(sign{means: means, rank: mild, text: text})
	case value && means == busy:
		r.add(sign{means: means, rank: faint, text: text})
	case value:
		r.add(sign{means: means, rank: mild, text: text})
	}
}
