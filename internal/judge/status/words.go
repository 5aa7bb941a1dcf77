package status

import (
	"iter"
	"slices"
	"strings"
	"unicode"
)

// Meaning is the meaning of a word in a status, ordered by severity.
type Meaning int

const (
	MeaningNone       Meaning = iota // says nothing about readiness
	MeaningGood                      // ready, succeeded, bound
	MeaningPaused                    // paused or suspended until resumed
	MeaningInProgress                // on its way
	MeaningTrouble                   // an error now; controllers retry, so it may recover
	MeaningFailed                    // failed for good
)

// opposite returns the meaning after "not".
func (m Meaning) opposite() Meaning {
	switch m {
	case MeaningGood:
		return MeaningTrouble
	case MeaningTrouble, MeaningFailed, MeaningInProgress, MeaningPaused:
		return MeaningGood
	}
	return MeaningNone
}

// negated returns the meaning of a word after "not": not started means pending.
func (m Meaning) negated(word string) Meaning {
	if word == "started" {
		return MeaningInProgress
	}
	return m.opposite()
}

// meaningOf returns the meaning of a word, a CamelCase or snake_case name, or a
// short phrase. The last word with a meaning decides, as in "ErrorResolved" and
// "NetworkingReady", except after a preposition, as in "WaitingForReady".
func meaningOf(text string) Meaning {
	result, negated, limited, before := MeaningNone, false, false, ""
	for word := range words(text) {
		m := inContext(word, before, result)
		before = word
		switch {
		case isNegation(word):
			negated = true
		case isLimit(word):
			limited, result = true, max(result, m)
		case result > MeaningGood && isAim(word):
			return result
		case m == MeaningNone, result != MeaningNone && isParticle(word) && m < MeaningFailed:
		case negated:
			result, negated = m.negated(word), false
		case limited && m == MeaningGood:
			result = MeaningInProgress
		default:
			result = m
		}
	}
	return result
}

// inContext returns the meaning of a word after another one: "in sync", "out
// of", "timed out". In "scaled down" and "rolled out" the last word has no
// meaning of its own; "conflict free" is good.
func inContext(word, before string, result Meaning) Meaning {
	switch {
	case word == "sync" && before == "in", word == "service" && before == "in":
		return MeaningGood
	case word == "of" && before == "out":
		return MeaningTrouble
	case word == "out" && (before == "timed" || before == "time"):
		return MeaningFailed
	case word == "down" && isParticiple(before):
		return MeaningNone
	case word == "free" && result >= MeaningTrouble:
		return MeaningGood
	}
	return wordMeaning(word)
}

func isNegation(word string) bool {
	return oneOf(word, "not", "no", "non", "without", "never", "un")
}

// isLimit reports whether a word qualifies a good one after it.
func isLimit(word string) bool {
	return oneOf(word, "partial", "partially", "partly", "almost", "nearly", "becoming", "some")
}

// isAim reports whether a word separates a state from its aim.
func isAim(word string) bool {
	return oneOf(word, "for", "to", "until", "before", "on", "with", "by", "because", "due")
}

// isParticle reports whether a word belongs to the verb before it: "scaling
// up".
func isParticle(word string) bool { return word == "up" || word == "down" || word == "out" }

// words splits a name at capitals, digits and other characters that are not
// letters, and yields its words in lower case: "oom" and "killed" for
// "OOMKilled".
func words(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		runes := []rune(text)
		start := 0
		for i := range runes {
			if i > start && boundary(runes, i) {
				if !yieldWord(runes[start:i], yield) {
					return
				}
				start = i
			}
		}
		yieldWord(runes[start:], yield)
	}
}

func yieldWord(runes []rune, yield func(string) bool) bool {
	word := strings.TrimFunc(string(runes), func(r rune) bool { return !unicode.IsLetter(r) })
	return word == "" || yield(strings.ToLower(word))
}

// boundary reports whether a word starts at i.
func boundary(runes []rune, i int) bool {
	prev, cur := runes[i-1], runes[i]
	return unicode.IsLetter(prev) != unicode.IsLetter(cur) ||
		unicode.IsUpper(cur) && (unicode.IsLower(prev) || unicode.IsUpper(prev) && i+1 < len(runes) && unicode.IsLower(runes[i+1]))
}

// wordMeaning is the dictionary of words that controllers use for states.
func wordMeaning(word string) Meaning {
	switch word {
	case "ready", "available", "healthy", "ok", "okay", "active", "online", "up", "alive", "running", "serving",
		"success", "successful", "successfully", "succeeded", "succeed", "complete", "completed", "done", "finished", "passed",
		"established", "bound", "synced", "synchronized", "insync", "accepted", "programmed", "reconciled", "deployed",
		"installed", "provisioned", "initialized", "configured", "connected", "attached", "applied", "resolved", "valid",
		"validated", "verified", "approved", "fulfilled", "registered", "joined", "published", "operational", "stable",
		"normal", "green", "working", "converged", "ensured", "satisfied", "compliant", "admitted", "listening", "streaming",
		"operating", "processed", "reachable", "passing", "optimal":
		return MeaningGood
	case "paused", "pause", "suspend", "suspended", "stopped", "hibernated", "halted", "inactive", "frozen":
		return MeaningPaused
	case "pending", "progress", "inprogress", "unknown", "queued", "requested", "submitted", "uninitialized",
		"initial", "init", "wait", "unprovisioned", "unbound", "partial", "partially", "incomplete", "started", "notready", "unready",
		"unsynced", "unreconciled", "unresolved", "rollout", "retry", "backoff", "yellow", "progressed", "unscheduled":
		return MeaningInProgress
	case "error", "errors", "errored", "err", "unhealthy", "unavailable", "missing", "unreachable", "blocked", "pressure",
		"warning", "warn", "down", "abnormal", "sealed", "offline", "disconnected", "outofsync", "outdated", "inconsistent", "violation", "violated",
		"insufficient", "unschedulable", "unauthorized", "forbidden", "problem", "problems", "warnings", "violations", "issues", "red", "stuck", "mismatch", "unstable",
		"absent", "lost", "orphaned", "uncertain", "limit", "inconclusive", "notfound", "unaccepted", "noncompliant",
		"conflict", "conflicts", "conflicted", "drifted", "unprogrammed", "irreconcilable", "failing", "crash", "crashing",
		"invalid", "rejected", "denied", "misconfigured", "unsupported", "expired", "broken", "killed", "evicted",
		"refused", "incompatible", "fault", "faults", "faulty", "faulted", "impaired", "erroneous", "unresponsive", "throttled",
		"overloaded", "revoked", "unable", "malformed", "unusable", "ineligible", "overdue":
		return MeaningTrouble
	case "failed", "failure", "failures", "fail", "fails", "degraded", "stalled", "aborted", "crashed", "crashloop", "exceeded",
		"timeout", "timedout", "dead", "fatal", "exhausted", "corrupted", "cancelled", "canceled", "unrecoverable", "terminal", "corrupt", "defunct":
		return MeaningFailed
	}
	if isWork(word) || strings.HasSuffix(word, "ing") && len(word) > 5 && !isNoun(word) {
		return MeaningInProgress
	}
	if rest, un := strings.CutPrefix(word, "un"); un { // such as uninstalled, unpaused
		return wordMeaning(rest).opposite()
	}
	return MeaningNone
}

// isWork reports whether a word in -ing means a change in progress. Others may
// mean a permanent activity, such as archiving.
func isWork(word string) bool {
	return oneOf(word, "progressing", "reconciling", "creating", "updating", "upgrading", "deleting", "terminating", "provisioning",
		"deprovisioning", "installing", "uninstalling", "initializing", "starting", "stopping", "restarting", "deploying",
		"scaling", "syncing", "synchronizing", "waiting", "awaiting", "pending", "scheduling", "rolling", "migrating",
		"resizing", "expanding", "rebalancing", "recovering", "restoring", "remediating", "configuring", "preparing",
		"building", "rebuilding", "pulling", "downloading", "importing", "issuing", "renewing", "joining", "bootstrapping",
		"removing", "replacing", "pausing", "suspending", "resuming", "connecting", "attaching", "detaching", "validating",
		"verifying", "planning", "applying", "draining", "finalizing", "unpacking", "loading", "converging", "transitioning",
		"launching", "registering", "modifying", "changing", "switching", "cloning", "copying")
}

// isNoun reports whether a word in -ing names a thing, not an activity.
func isNoun(word string) bool {
	return oneOf(word, "networking", "monitoring", "logging", "routing", "tracing", "peering", "binding", "mapping", "string",
		"existing", "nothing", "messaging", "eventing", "serving", "billing", "caching", "backing", "sharing", "remaining", "matching")
}

// lastWord returns the last word of a name: status for jobStatus.
func lastWord(name string) string {
	_, last := lastTwo(name)
	return last
}

// lastTwo returns the last two words of a name, or "".
func lastTwo(name string) (before, last string) {
	for word := range words(name) {
		before, last = last, word
	}
	return before, last
}

// isParticiple reports whether a name is a past participle: "Imported".
func isParticiple(name string) bool {
	name = strings.ToLower(name)
	return strings.HasSuffix(name, "ed") || oneOf(name, "found", "built", "met", "sent", "written")
}

func firstWord(name string) string {
	for word := range words(name) {
		return word
	}
	return ""
}

// hasWord reports whether a name contains one of these words.
func hasWord(name string, list ...string) bool {
	return anyWord(name, func(word string) bool { return slices.Contains(list, word) })
}

// anyWord reports whether a name contains such a word.
func anyWord(name string, is func(string) bool) bool {
	for word := range words(name) {
		if is(word) {
			return true
		}
	}
	return false
}

func oneOf(word string, list ...string) bool { return slices.Contains(list, word) }
