package health

import (
	"fmt"
	"strings"
)

// condition reads an entry of a list of conditions (Kubernetes API conventions,
// "Typical status properties").
func (r *statusSignals) condition(path string, c map[string]any, depth int) {
	name, _ := firstOf(c, "type", "name", "conditionType").(string)
	if name == "" {
		return
	}
	state := firstOf(c, "status", "state", "value")
	if state == nil {
		state = "True" // some controllers list only conditions that are true
	}
	if seen, ok := integer(c["observedGeneration"]); ok && seen < r.generation {
		text := fmt.Sprintf("%scondition %s has observed generation %d, and the generation is %d", path, name, seen, r.generation)
		r.add(signal{means: meaningInProgress, weight: r.outdated(name, depth), text: text})
		return
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

// outdated returns the rank of a condition about an older generation. If the
// controller has observed the current generation, conditions that it did not
// update have not changed, except those about the whole object.
func (r *statusSignals) outdated(name string, depth int) weight {
	if r.seen && !summarizesObject(name) && !isSpecCondition(name) {
		return weightLow
	}
	return weightAtDepth(depth)
}

// conditionMap reads conditions that are stored as a map by name.
func (r *statusSignals) conditionMap(path string, conditions map[string]any, depth int) {
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

// judge interprets a condition by the polarity of its name.
func (r *statusSignals) judge(path, name, state string, c map[string]any, depth int) {
	reason, _ := c["reason"].(string)
	s := signal{means: meaningOf(name), weight: weightAtDepth(depth), text: describe(path, name, state, reason, c["message"])}
	_, dated := integer(c["observedGeneration"]) // conditions about older generations do not get here
	s.final = name == "Stalled" && (r.seen || dated)
	if s.means == meaningNone && isAspect(lastWord(name)) { // such as Health with status True
		s.means = meaningGood
	}
	s.degraded = lastWord(name) == "degraded"
	known := s.means != meaningNone
	switch {
	case isUpdateAvailable(name): // whether a newer version exists or not
		s.means = meaningNone
	case known:
	case isPositiveCondition(name):
		s.means = meaningGood
	case isNegativeCondition(name):
		s.means = meaningTrouble
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
func (r *statusSignals) isUnknown(s signal, name string, depth int, known bool) {
	switch s.means {
	case meaningGood:
		rank := unsure(missing(name, depth, known))
		if before, _ := lastTwo(name); before != "" && !summarizesObject(name) {
			rank = weightLow // such as PropertiesApplied, which is about a part of the spec
		}
		r.add(signal{means: meaningInProgress, weight: rank, text: s.text})
	case meaningInProgress:
		r.add(s)
	}
}

// word interprets a condition whose status is another word, as in a list of
// steps: "Deploy is Failed". For negative conditions the word adds nothing.
func (r *statusSignals) word(s signal, name, state string, depth int, known bool) {
	means := r.phrase(state)
	switch {
	case s.means > meaningGood || means == meaningNone:
		r.isUnknown(s, name, depth, known)
	case means == meaningGood:
		r.add(signal{means: meaningGood, weight: r.present(name, depth), text: s.text})
	default:
		r.add(signal{means: means, weight: missing(name, depth, known), text: s.text})
	}
}

// holds interprets a condition with status True. Ready outranks trouble, which
// may be a warning, but neither progress nor failure.
func (r *statusSignals) holds(s signal, name, reason string, depth int) {
	because := meaningOf(reason)
	switch {
	case name == "Running" && reason == "Running": // an Ansible operator of the Operator SDK is running
		s.means = meaningInProgress
	case s.means == meaningNone && because >= meaningTrouble:
		s.means, s.weight = meaningTrouble, weightLow
	case s.means >= meaningTrouble && because == meaningGood: // name and reason contradict each other: weak evidence
		s.weight = weightLow
	case s.means == meaningFailed && because == meaningInProgress: // such as Degraded with reason UpdateInProgress, which is temporary
		s.means = meaningTrouble
	case s.means == meaningTrouble:
		s.weight = weightMedium
	case s.means == meaningInProgress && because == meaningGood: // such as Progressing with reason NewReplicaSetAvailable: finished
		return
	case s.means == meaningInProgress && !hasWork(name):
		s.weight = weightLow
	case s.means == meaningGood && r.oneShot && isUnderWay(lastWord(name)):
		s.means, s.weight = meaningInProgress, weightLow
	case s.means == meaningGood:
		s.weight = r.present(name, depth)
	}
	r.add(s)
}

// isProgress reports whether a condition is about all work on an object.
func isProgress(name string) bool {
	switch lastWord(name) {
	case "progressing", "reconciling":
		return true
	}
	return false
}

// isAspect reports whether a word names an aspect instead of a state: condition
// Health is True if all is well.
func isAspect(last string) bool {
	switch last {
	case "health", "readiness", "availability", "connectivity", "connection":
		return true
	}
	return false
}

// hasWork reports whether a name means a change in progress, and not a
// permanent activity. Something that has started may have ended long ago.
func hasWork(name string) bool {
	if lastWord(name) == "started" {
		return false
	}
	for word := range words(name) {
		if isWork(word) || !strings.HasSuffix(word, "ing") && wordMeaning(word) == meaningInProgress {
			return true
		}
	}
	return false
}

// doesNotHold interprets a condition with status False. A positive condition is
// still in progress, and a condition about work means that the work is done,
// unless the reason indicates trouble.
func (r *statusSignals) doesNotHold(s signal, name, reason string, depth int, known bool) {
	because := meaningOf(reason)
	switch {
	case s.means == meaningGood && isNotEnabled(reason) && missing(name, depth, known) < weightHigh: // an optional part that is not enabled
		return
	case s.means == meaningGood && r.ended && depth == 0 && summarizesResult(name): // finished without success
		r.add(signal{means: meaningFailed, weight: weightHigh, text: s.text})
	case s.means == meaningGood && because >= meaningTrouble:
		r.add(signal{means: meaningTrouble, weight: missing(name, depth, known), text: s.text})
	case s.means == meaningGood && because == meaningPaused: // such as Synced with status False and reason ReconcilePaused
		r.add(signal{means: meaningPaused, weight: missing(name, depth, known), text: s.text})
	case s.means == meaningGood:
		r.add(signal{means: meaningInProgress, weight: missing(name, depth, known), text: s.text})
	case s.means == meaningInProgress && because >= meaningTrouble && isProgress(name):
		r.add(signal{means: because, weight: s.weight, text: s.text})
	case s.means == meaningInProgress && because >= meaningTrouble: // such as Issuing and ContinuousArchiving, which are about one of several parts
		r.add(signal{means: meaningTrouble, weight: min(s.weight, weightMedium), text: s.text})
	case s.means == meaningNone && because >= meaningTrouble:
		r.add(signal{means: meaningTrouble, weight: weightLow, text: s.text})
	}
}

// isNotEnabled reports whether a condition is False because its feature is not
// enabled: reasons such as Disabled or NotRequired.
func isNotEnabled(reason string) bool {
	before, last := lastTwo(reason)
	switch last {
	case "disabled", "skipped":
		return true
	case "enabled", "requested", "required", "applicable", "needed":
		return before == "not"
	}
	return false
}

// isUpdateAvailable reports whether a condition is about a newer version, such as
// UpdateAvailable.
func isUpdateAvailable(name string) bool {
	before, last := lastTwo(name)
	switch before {
	case "update", "updates", "upgrade", "upgrades", "version":
		return last == "available"
	}
	return false
}

// present returns the rank of a positive condition or flag that is true.
func (r *statusSignals) present(name string, depth int) weight {
	switch {
	case depth > 0:
		return weightNone
	case strings.EqualFold(name, "ready"), r.oneShot && meaningOf(name) == meaningGood:
		return weightMedium
	case summarizesObject(name):
		return weightLow
	}
	return weightNone
}

// missing returns the rank of a positive condition that is not true.
func missing(name string, depth int, known bool) weight {
	switch {
	case !known:
		return weightLow
	case depth == 0 && (summarizesObject(name) || isSpecCondition(name)):
		return weightHigh
	}
	return weightMedium
}

// unsure returns the rank of a condition with status Unknown, given its rank
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
	switch strings.ToLower(name) {
	case "ready", "available", "healthy", "succeeded":
		return true
	}
	return false
}

// summarizesResult reports whether a condition summarizes the result of a one-shot
// kind.
func summarizesResult(name string) bool {
	switch strings.ToLower(name) {
	case "succeeded", "complete", "completed", "ready":
		return true
	}
	return false
}

// isSpecCondition reports whether a condition is about conformance to the spec.
// Ready does not outrank these: it describes the object as it is, not as
// specified.
func isSpecCondition(name string) bool {
	for word := range words(name) {
		switch word {
		case "synced", "reconciled", "applied", "accepted", "programmed", "valid", "resolved", "synchronized":
			return true
		}
	}
	return false
}

// isPositiveCondition guesses the polarity of a condition that is not in the dictionary:
// participles are usually positive.
func isPositiveCondition(name string) bool {
	last := lastWord(name)
	switch last {
	case "limited", "throttled", "restricted", "deprecated", "skipped", "ignored", "tainted", "cordoned", "drained", "deleted",
		"terminated", "enabled", "disabled", "changed", "modified", "detected", "needed", "required", "requested", "managed", "owned", "scaled":
		return false
	}
	return isParticiple(last)
}

// isNegativeCondition reports whether a name that is not in the dictionary says that
// something is missing: NoMatchingInstance.
func isNegativeCondition(name string) bool {
	for first := range words(name) {
		return first == "no"
	}
	return false
}

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

// unconfirmed reads the conditions of Crossplane's runtime, including composed
// kinds: Synced means that the provider was called, and only Ready, which comes
// later, that the external resource exists.
func (r *statusSignals) unconfirmed(status map[string]any) {
	list, _ := status["conditions"].([]any)
	synced, told := false, false
	for _, entry := range list {
		c, _ := entry.(map[string]any)
		synced = synced || c["type"] == "Synced" && c["reason"] == "ReconcileSuccess"
		told = told || c["type"] == "Ready"
	}
	if synced && !told {
		r.add(signal{means: meaningInProgress, weight: weightLow, text: "condition Synced is True (ReconcileSuccess), and condition Ready is not set yet"})
	}
}
