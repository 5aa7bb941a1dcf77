package health

import (
	"iter"
	"strings"
	"unicode"
)

// meaning is what a word in a status says about the object, the worse the
// larger.
type meaning int

const (
	silent  meaning = iota // says nothing about readiness
	good                   // ready, succeeded, bound
	idle                   // paused or suspended: nothing moves until somebody resumes it
	busy                   // on its way
	trouble                // wrong now; controllers retry, so it may still get there
	fatal                  // given up
)

// opposite is what "not" makes of a meaning.
func (m meaning) opposite() meaning {
	switch m {
	case good:
		return trouble
	case trouble, fatal, busy, idle:
		return good
	}
	return silent
}

// negated is what "not" makes of a word: what has not started is still to come.
func (m meaning) negated(word string) meaning {
	if word == "started" {
		return busy
	}
	return m.opposite()
}

// meaningOf reads a word, a CamelCase or snake_case name, or a short phrase.
// The last word that means something decides, as in "ErrorResolved" and
// "NetworkingReady"; what is only aimed at does not: "WaitingForReady".
func meaningOf(text string) meaning {
	result, negated, limited, before := silent, false, false, ""
	for word := range words(text) {
		m := inContext(word, before, result)
		before = word
		switch {
		case isNegation(word):
			negated = true
		case isLimit(word):
			limited, result = true, max(result, m)
		case result > good && isAim(word):
			return result
		case m == silent, result != silent && isParticle(word) && m < fatal:
		case negated:
			result, negated = m.negated(word), false
		case limited && m == good:
			result = busy
		default:
			result = m
		}
	}
	return result
}

// inContext is the meaning of a word after another one: "in sync", "out of",
// "timed out". "Scaled down" and "rolled out" say where something went, and not
// that it is down or out; "conflict free" is free of it.
func inContext(word, before string, result meaning) meaning {
	switch {
	case word == "sync" && before == "in", word == "service" && before == "in":
		return good
	case word == "of" && before == "out":
		return trouble
	case word == "out" && (before == "timed" || before == "time"):
		return fatal
	case word == "down" && isParticiple(before):
		return silent
	case word == "free" && result >= trouble:
		return good
	}
	return wordMeaning(word)
}

func isNegation(word string) bool {
	switch word {
	case "not", "no", "non", "without", "never", "un":
		return true
	}
	return false
}

// isLimit tells of words after which good is not yet good enough.
func isLimit(word string) bool {
	switch word {
	case "partial", "partially", "partly", "almost", "nearly", "becoming", "some":
		return true
	}
	return false
}

// isAim tells of the words between a state and what it waits for.
func isAim(word string) bool {
	switch word {
	case "for", "to", "until", "before", "on", "with", "by", "because", "due":
		return true
	}
	return false
}

// isParticle tells of words that belong to the verb before them: "scaling up".
func isParticle(word string) bool { return word == "up" || word == "down" || word == "out" }

// words splits a name at capitals, digits and everything that is no letter;
// it yields lower case. "OOMKilled" is "oom" and "killed".
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

// boundary tells whether a word begins at i.
func boundary(runes []rune, i int) bool {
	prev, cur := runes[i-1], runes[i]
	switch {
	case unicode.IsLetter(prev) != unicode.IsLetter(cur):
		return true
	case unicode.IsUpper(cur) && unicode.IsLower(prev):
		return true
	case unicode.IsUpper(cur) && unicode.IsUpper(prev) && i+1 < len(runes) && unicode.IsLower(runes[i+1]):
		return true
	}
	return false
}

// wordMeaning is the dictionary, of words that controllers use for the state
// of an object.
func wordMeaning(word string) meaning {
	switch word {
	case "ready", "available", "healthy", "ok", "okay", "active", "online", "up", "alive", "running", "serving",
		"success", "successful", "successfully", "succeeded", "succeed", "complete", "completed", "done", "finished", "passed",
		"established", "bound", "synced", "synchronized", "insync", "accepted", "programmed", "reconciled", "deployed",
		"installed", "provisioned", "initialized", "configured", "connected", "attached", "applied", "resolved", "valid",
		"validated", "verified", "approved", "fulfilled", "registered", "joined", "published", "operational", "stable",
		"normal", "green", "working", "converged", "ensured", "satisfied", "compliant", "admitted", "listening", "streaming",
		"operating", "processed", "reachable", "passing", "optimal":
		return good
	case "paused", "pause", "suspend", "suspended", "stopped", "hibernated", "halted", "inactive", "frozen":
		return idle
	case "pending", "progress", "inprogress", "unknown", "queued", "requested", "submitted", "uninitialized",
		"initial", "init", "wait", "unprovisioned", "unbound", "partial", "partially", "incomplete", "started", "notready", "unready",
		"unsynced", "unreconciled", "unresolved", "rollout", "retry", "backoff", "yellow", "progressed", "unscheduled":
		return busy
	case "error", "errors", "errored", "err", "unhealthy", "unavailable", "missing", "unreachable", "blocked", "pressure",
		"warning", "warn", "down", "abnormal", "sealed", "offline", "disconnected", "outofsync", "outdated", "inconsistent", "violation", "violated",
		"insufficient", "unschedulable", "unauthorized", "forbidden", "problem", "problems", "warnings", "violations", "issues", "red", "stuck", "mismatch", "unstable",
		"absent", "lost", "orphaned", "uncertain", "limit", "inconclusive", "notfound", "unaccepted", "noncompliant",
		"conflict", "conflicts", "conflicted", "drifted", "unprogrammed", "irreconcilable", "failing", "crash", "crashing",
		"invalid", "rejected", "denied", "misconfigured", "unsupported", "expired", "broken", "killed", "evicted",
		"refused", "incompatible", "fault", "faults", "faulty", "faulted", "impaired", "erroneous", "unresponsive", "throttled",
		"overloaded", "revoked", "unable", "malformed", "unusable", "ineligible", "overdue":
		return trouble
	case "failed", "failure", "failures", "fail", "fails", "degraded", "stalled", "aborted", "crashed", "crashloop", "exceeded",
		"timeout", "timedout", "dead", "fatal", "exhausted", "corrupted", "cancelled", "canceled", "unrecoverable", "terminal", "corrupt", "defunct":
		return fatal
	}
	if isWork(word) || strings.HasSuffix(word, "ing") && len(word) > 5 && !isNoun(word) {
		return busy
	}
	if rest, un := strings.CutPrefix(word, "un"); un { // uninstalled, unpaused
		return wordMeaning(rest).opposite()
	}
	return silent
}

// isWork tells of the words in -ing that mean a change under way. Others may
// name what goes on all the time, as archiving does.
func isWork(word string) bool {
	switch word {
	case "progressing", "reconciling", "creating", "updating", "upgrading", "deleting", "terminating", "provisioning",
		"deprovisioning", "installing", "uninstalling", "initializing", "starting", "stopping", "restarting", "deploying",
		"scaling", "syncing", "synchronizing", "waiting", "awaiting", "pending", "scheduling", "rolling", "migrating",
		"resizing", "expanding", "rebalancing", "recovering", "restoring", "remediating", "configuring", "preparing",
		"building", "rebuilding", "pulling", "downloading", "importing", "issuing", "renewing", "joining", "bootstrapping",
		"removing", "replacing", "pausing", "suspending", "resuming", "connecting", "attaching", "detaching", "validating",
		"verifying", "planning", "applying", "draining", "finalizing", "unpacking", "loading", "converging", "transitioning",
		"launching", "registering", "modifying", "changing", "switching", "cloning", "copying":
		return true
	}
	return false
}

// isNoun tells of words in -ing that name a thing and not what is going on.
func isNoun(word string) bool {
	switch word {
	case "networking", "monitoring", "logging", "routing", "tracing", "peering", "binding", "mapping", "string",
		"existing", "nothing", "messaging", "eventing", "serving", "billing", "caching", "backing", "sharing", "remaining", "matching":
		return true
	}
	return false
}

// lastWord gives the word that says what a name is: status of jobStatus.
func lastWord(name string) string {
	_, last := lastTwo(name)
	return last
}

// lastTwo are the last word of a name and the one before it; "" for none.
func lastTwo(name string) (before, last string) {
	for word := range words(name) {
		before, last = last, word
	}
	return before, last
}
