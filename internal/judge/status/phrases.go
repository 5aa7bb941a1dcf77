package status

import (
	"strconv"
	"strings"
	"unicode"
)

// phrase returns the meaning of a state's name. For one-shot kinds, running
// means not ready.
func (r *Signals) phrase(value string) Meaning {
	if len(value) > 200 || isHash(value) {
		return MeaningNone
	}
	switch strings.ToLower(value) {
	case "true", "yes", "enabled":
		return MeaningGood
	case "current", "latest", "nominal", "live", "steady", "idle", "standby", "in-use", "in_use", "inuse":
		if !r.oneShot {
			return MeaningGood
		}
	case "false", "no", "new":
		return MeaningInProgress
	case "disabled":
		return MeaningPaused
	case "critical", "impaired", "poor", "bad", "suspect", "quarantined", "faulty", "faulted", "abnormal":
		return MeaningTrouble
	}
	switch lastWord(value) {
	case "scheduled", "planned", "prepared", "allocated":
		return MeaningInProgress
	case "required", "needed": // such as ApprovalRequired
		if meaningOf(value) == MeaningNone && !isNegated(value) {
			return MeaningInProgress
		}
	}
	if r.oneShot && isUnderWay(lastWord(value)) {
		return MeaningInProgress
	}
	if got, want, ok := fraction(value); ok {
		return compareCount(got, want)
	}
	means := meaningOf(value)
	if means == MeaningNone {
		means = r.idiom(value)
	}
	if means == MeaningGood && isIncomplete(value) {
		return MeaningInProgress
	}
	return means
}

// isFinalFailure reports whether a word means a final failure of a one-shot kind.
// Other kinds recover from Error.
func isFinalFailure(word string) bool {
	return oneOf(word, "error", "errored", "inconclusive", "denied", "rejected", "invalid", "killed", "expired")
}

// idiom returns the meaning of phrases whose single words have none.
func (r *Signals) idiom(value string) Meaning {
	if hasWord(value, "latest") && !r.oneShot { // such as AtLatestKnown
		return MeaningGood
	}
	before, last := lastTwo(value)
	if before == "no" && oneOf(last, "quorum", "leader", "primary", "master", "endpoints", "backends", "members", "nodes", "replicas", "capacity", "data") {
		return MeaningTrouble
	}
	return MeaningNone
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
	return undoes && !isNegated(value) && (wordMeaning(before) == MeaningGood || oneOf(before, "rolledback", "deleted", "destroyed", "terminated", "back"))
}

// isNegated reports whether a phrase contains a negation: NoActionRequired.
func isNegated(value string) bool { return anyWord(value, isNegation) }

// isHash reports whether a value is a commit or checksum, whose letters may
// spell a word by chance.
func isHash(value string) bool {
	return len(value) >= 7 && strings.ContainsAny(value, "0123456789") &&
		strings.Trim(strings.TrimPrefix(value, "sha256:"), "0123456789abcdef") == ""
}

// isUnderWay reports whether a word means, for one-shot kinds, not finished
// yet.
func isUnderWay(name string) bool {
	return oneOf(strings.ToLower(name), "running", "active", "created", "started", "scheduled", "accepted", "initialized")
}

// isName reports whether a value is the name of a state, not a sentence.
func isName(value string) bool {
	return len(value) <= 40 && !strings.ContainsAny(value, " .,:/")
}

// isNoError reports whether the value of an error field means "no error".
func isNoError(value string) bool {
	return oneOf(strings.ToLower(value), "none", "nil", "null", "n/a", "-", "{}", "[]", "false", "0") ||
		len(strings.Fields(value)) <= 2 && meaningOf(value) == MeaningGood
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

// percentage parses "40%" or "100.0%" as progress.
func percentage(text string) (Meaning, bool) {
	number, ok := strings.CutSuffix(strings.TrimSpace(text), "%")
	done, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	switch {
	case !ok || err != nil:
		return MeaningNone, false
	case done < 100:
		return MeaningInProgress, true
	}
	return MeaningGood, true
}

// fraction parses "1/3" as actual and desired.
func fraction(text string) (got, want int64, ok bool) {
	a, b, ok := strings.Cut(text, "/")
	got, errGot := strconv.ParseInt(a, 10, 64)
	want, errWant := strconv.ParseInt(b, 10, 64)
	return got, want, ok && errGot == nil && errWant == nil
}

// isIncomplete reports whether a sentence states an insufficient count: "2 of 3
// nodes are ready", "running (1/3 ready)".
func isIncomplete(text string) bool {
	fields := strings.FieldsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune("()[],;", r) })
	for i, field := range fields {
		if field == "of" && i > 0 && i+1 < len(fields) {
			field = fields[i-1] + "/" + fields[i+1]
		}
		if got, want, ok := fraction(field); ok && got < want {
			return true
		}
	}
	return false
}

func compareCount(got, want int64) Meaning {
	switch {
	case got < want:
		return MeaningInProgress
	case want > 0:
		return MeaningGood
	}
	return MeaningNone
}
