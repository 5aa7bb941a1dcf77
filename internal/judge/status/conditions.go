package status

import (
	"fmt"
	"strings"
)

// condition reads an entry of a list of conditions (Kubernetes API conventions,
// "Typical status properties").
func (r *Signals) condition(path string, c map[string]any, depth int) {
	name, _ := firstOf(c, "type", "name", "conditionType").(string)
	if name == "" {
		return
	}
	state := firstOf(c, "status", "state", "value")
	if state == nil {
		state = "True" // some controllers list only conditions that are true
	}
	r.judge(path, name, fmt.Sprint(state), c, depth)
}

// firstOf returns the first of the fields that exists, or nil.
func firstOf(c map[string]any, keys ...string) any {
	for _, key := range keys {
		if value, ok := c[key]; ok {
			return value
		}
	}
	return nil
}

// outdated returns the weight of a condition about an older generation. If the
// controller has observed the current generation, conditions that it did not
// update have not changed, except those about the whole object.
func (r *Signals) outdated(name string, depth int) weight {
	if r.seen && !summarizesObject(name) && !isSpecCondition(name) {
		return weightLow
	}
	return weightOfTrouble(depth)
}

// conditionMap reads conditions that are stored as a map by name.
func (r *Signals) conditionMap(path string, conditions map[string]any, depth int) {
	for name, value := range conditions {
		switch value := value.(type) {
		case map[string]any:
			if state := firstOf(value, "status", "state", "value"); state != nil {
				r.judge(path, name, fmt.Sprint(state), value, depth)
			}
		case string, bool:
			r.judge(path, name, fmt.Sprint(value), nil, depth)
		}
	}
}

// judge interprets a condition by the polarity of its name. One about an older generation
// only says that its controller is not done.
func (r *Signals) judge(path, name, state string, c map[string]any, depth int) {
	if seen, ok := Integer(c["observedGeneration"]); ok && seen < r.generation {
		r.add(Signal{Means: MeaningInProgress, weight: r.outdated(name, depth), Text: path + outdatedText(name, seen, r.generation)})
		return
	}
	reason, _ := c["reason"].(string)
	s := Signal{Means: meaningOf(name), weight: weightOfTrouble(depth), Text: describe(path, name, state, reason, c["message"])}
	_, dated := Integer(c["observedGeneration"]) // conditions about older generations do not get here
	s.Final = name == "Stalled" && (r.seen || dated)
	if s.Means == MeaningNone && isAspect(lastWord(name)) { // such as Health with status True
		s.Means = MeaningGood
	}
	s.Degraded = lastWord(name) == "degraded"
	known := s.Means != MeaningNone
	switch {
	case isUpdateAvailable(name): // whether a newer version exists or not
		s.Means = MeaningNone
	case known:
	case isPositiveCondition(name):
		s.Means = MeaningGood
	case isNegativeCondition(name):
		s.Means = MeaningTrouble
	}
	switch strings.ToLower(state) {
	case "true", "yes":
		r.holds(s, name, reason, depth)
	case "false", "no":
		r.doesNotHold(s, name, reason, depth, known)
	case "unknown", "":
		r.isUnknown(s, name, depth, known)
	default:
		r.word(s, name, state, depth, known)
	}
}

// isUnknown interprets a condition with status Unknown.
func (r *Signals) isUnknown(s Signal, name string, depth int, known bool) {
	switch s.Means {
	case MeaningGood:
		rank := unsure(missing(name, depth, known))
		if before, _ := lastTwo(name); before != "" && !summarizesObject(name) {
			rank = weightLow // such as PropertiesApplied, which is about a part of the spec
		}
		r.add(Signal{Means: MeaningInProgress, weight: rank, Text: s.Text})
	case MeaningInProgress:
		r.add(s)
	}
}

// word interprets a condition whose status is another word, as in a list of
// steps: "Deploy is Failed". For negative conditions the word adds nothing.
func (r *Signals) word(s Signal, name, state string, depth int, known bool) {
	means := r.phrase(state)
	if means == MeaningFailed && lastWord(state) == "degraded" { // such as Available with status Degraded: not all of it is
		means = MeaningTrouble
	}
	switch {
	case s.Means > MeaningGood || means == MeaningNone:
		r.isUnknown(s, name, depth, known)
	case means == MeaningGood:
		r.add(Signal{Means: MeaningGood, weight: r.present(name, depth), Text: s.Text})
	default:
		r.add(Signal{Means: means, weight: missing(name, depth, known), Text: s.Text})
	}
}

// holds interprets a condition with status True. Ready outranks trouble, which
// may be a warning, but neither progress nor failure.
func (r *Signals) holds(s Signal, name, reason string, depth int) {
	because := meaningOf(reason)
	switch {
	case name == "Running" && reason == "Running": // an Ansible operator of the Operator SDK is running
		s.Means = MeaningInProgress
	case s.Means == MeaningNone && because >= MeaningTrouble:
		s.Means, s.weight = MeaningTrouble, weightLow
	case s.Means == MeaningGood && hasEnded(name) && (because == MeaningFailed || isFinalFailure(lastWord(reason))): // how it ended
		s.Means = MeaningFailed
	case s.Means >= MeaningTrouble && because == MeaningGood: // name and reason contradict each other: weak evidence
		s.weight = weightLow
	case s.Means == MeaningFailed && because == MeaningInProgress: // such as Degraded with reason UpdateInProgress, which is temporary
		s.Means = MeaningTrouble
	case s.Means == MeaningTrouble:
		s.weight = weightMedium
	case s.Means == MeaningInProgress && because == MeaningGood: // such as Progressing with reason NewReplicaSetAvailable: finished
		return
	case s.Means == MeaningInProgress && !hasWork(name):
		s.weight = weightLow
	case s.Means == MeaningGood && r.oneShot && isUnderWay(lastWord(name)):
		s.Means, s.weight = MeaningInProgress, weightLow
	case s.Means == MeaningGood:
		s.weight = r.present(name, depth)
	}
	r.add(s)
}

// hasEnded reports whether a condition says that the work has ended, one way or the other.
func hasEnded(name string) bool {
	return oneOf(lastWord(name), "complete", "completed", "finished", "done")
}

// isProgress reports whether a condition is about all work on an object.
func isProgress(name string) bool {
	return oneOf(lastWord(name), "progressing", "reconciling")
}

// isAspect reports whether a word names an aspect instead of a state: condition
// Health is True if all is well.
func isAspect(last string) bool {
	return oneOf(last, "health", "readiness", "availability", "connectivity", "connection")
}

// hasWork reports whether a name means a change in progress, and not a
// permanent activity. Something that has started may have ended long ago.
func hasWork(name string) bool {
	return lastWord(name) != "started" && anyWord(name, func(word string) bool {
		return isWork(word) || !strings.HasSuffix(word, "ing") && wordMeaning(word) == MeaningInProgress
	})
}

// doesNotHold interprets a condition with status False. A positive condition is
// still in progress, and a condition about work means that the work is done,
// unless the reason indicates trouble.
func (r *Signals) doesNotHold(s Signal, name, reason string, depth int, known bool) {
	because := meaningOf(reason)
	switch {
	case s.Means == MeaningGood && isNotEnabled(reason) && missing(name, depth, known) < weightHigh: // an optional part that is not enabled
		return
	case s.Means == MeaningGood && r.ended && depth == 0 && summarizesResult(name): // finished without success
		r.add(Signal{Means: MeaningFailed, weight: weightHigh, Text: s.Text})
	case s.Means == MeaningGood && because >= MeaningTrouble:
		r.add(Signal{Means: MeaningTrouble, weight: missing(name, depth, known), Text: s.Text})
	case s.Means == MeaningGood && because == MeaningPaused: // such as Synced with status False and reason ReconcilePaused
		r.add(Signal{Means: MeaningPaused, weight: missing(name, depth, known), Text: s.Text})
	case s.Means == MeaningGood:
		r.add(Signal{Means: MeaningInProgress, weight: missing(name, depth, known), Text: s.Text})
	case s.Means == MeaningInProgress && because >= MeaningTrouble && isProgress(name):
		r.add(Signal{Means: because, weight: s.weight, Text: s.Text})
	case s.Means == MeaningInProgress && because >= MeaningTrouble: // such as Issuing and ContinuousArchiving, which are about one of several parts
		r.add(Signal{Means: MeaningTrouble, weight: min(s.weight, weightMedium), Text: s.Text})
	case s.Means == MeaningNone && because >= MeaningTrouble:
		r.add(Signal{Means: MeaningTrouble, weight: weightLow, Text: s.Text})
	}
}

// isNotEnabled reports whether a condition is False because its feature is not
// enabled: reasons such as Disabled or NotRequired.
func isNotEnabled(reason string) bool {
	before, last := lastTwo(reason)
	return oneOf(last, "disabled", "skipped") || before == "not" && oneOf(last, "enabled", "requested", "required", "applicable", "needed")
}

// isUpdateAvailable reports whether a condition is about a newer version, such as
// UpdateAvailable.
func isUpdateAvailable(name string) bool {
	before, last := lastTwo(name)
	return last == "available" && oneOf(before, "update", "updates", "upgrade", "upgrades", "version")
}

// present returns the weight of a positive condition or flag that is true.
func (r *Signals) present(name string, depth int) weight {
	switch {
	case depth > 0:
		return weightNone
	case strings.EqualFold(name, "ready"), r.oneShot && meaningOf(name) == MeaningGood:
		return weightMedium
	case summarizesObject(name):
		return weightLow
	}
	return weightNone
}

// missing returns the weight of a positive condition that is not true.
func missing(name string, depth int, known bool) weight {
	switch {
	case !known:
		return weightLow
	case depth == 0 && (summarizesObject(name) || isSpecCondition(name)):
		return weightHigh
	}
	return weightMedium
}

// unsure returns the weight of a condition with status Unknown, given its weight
// with status False. For a part it is weak evidence.
func unsure(r weight) weight {
	if r == weightMedium {
		return weightLow
	}
	return r
}

// summarizesObject reports whether a condition with this name summarizes the whole
// object.
func summarizesObject(name string) bool {
	return oneOf(strings.ToLower(name), "ready", "available", "healthy", "succeeded")
}

// summarizesResult reports whether a condition summarizes the result of a one-shot
// kind.
func summarizesResult(name string) bool {
	return oneOf(strings.ToLower(name), "succeeded", "complete", "completed", "ready")
}

// isSpecCondition reports whether a condition is about conformance to the spec.
// Ready does not outrank these: it describes the object as it is, not as
// specified.
func isSpecCondition(name string) bool {
	return hasWord(name, "synced", "reconciled", "applied", "accepted", "programmed", "valid", "resolved", "synchronized")
}

// isPositiveCondition guesses the polarity of a condition that is not in the dictionary:
// participles are usually positive.
func isPositiveCondition(name string) bool {
	last := lastWord(name)
	return isParticiple(last) && !oneOf(last, "limited", "throttled", "restricted", "deprecated", "skipped", "ignored", "tainted", "cordoned", "drained", "deleted",
		"terminated", "enabled", "disabled", "changed", "modified", "detected", "needed", "required", "requested", "managed", "owned", "scaled")
}

// isNegativeCondition reports whether a name that is not in the dictionary says that
// something is missing: NoMatchingInstance.
func isNegativeCondition(name string) bool { return firstWord(name) == "no" }

func describe(path, name, state, reason string, message any) string {
	text := path + "condition " + name + " is " + state
	if reason != "" {
		text += " (" + reason + ")"
	}
	if message, _ := message.(string); message != "" {
		text += ": " + message
	}
	return text
}
