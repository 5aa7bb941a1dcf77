package health

import (
	"fmt"
	"strings"
)

// condition reads one entry of a list of conditions (Kubernetes API
// conventions, "Typical status properties").
func (r *reading) condition(path string, c map[string]any, depth int) {
	name, _ := firstOf(c, "type", "name", "conditionType").(string)
	if name == "" {
		return
	}
	state := firstOf(c, "status", "state", "value")
	if state == nil {
		state = "True" // some list only what holds now
	}
	if seen, ok := integer(c["observedGeneration"]); ok && seen < r.generation {
		text := fmt.Sprintf("%scondition %s is about generation %d, and this is generation %d", path, name, seen, r.generation)
		r.add(sign{means: busy, rank: r.outdated(name, depth), text: text})
		return
	}
	r.judge(path, name, fmt.Sprint(state), c, depth)
}

// firstOf is the first of some fields that is there; nil for none.
func firstOf(c map[string]any, keys ...string) any {
	for _, key := range keys {
		if value, ok := c[key]; ok {
			return value
		}
	}
	return nil
}

// outdated is the rank of a condition about an older generation. Once the
// controller has seen this one, what it did not write anew is what did not
// change, but for the conditions that tell of the object as a whole.
func (r *reading) outdated(name string, depth int) rank {
	if r.seen && !sumsUp(name) && !tellsOfSpec(name) {
		return faint
	}
	return share(depth)
}

// conditionMap reads conditions that are kept by name.
func (r *reading) conditionMap(path string, conditions map[string]any, depth int) {
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

// judge reads a condition by the polarity of its name.
func (r *reading) judge(path, name, state string, c map[string]any, depth int) {
	reason, _ := c["reason"].(string)
	s := sign{means: meaningOf(name), rank: share(depth), text: describe(path, name, state, reason, c["message"])}
	_, dated := integer(c["observedGeneration"]) // an older one is not judged
	s.final = name == "Stalled" && (r.seen || dated)
	if s.means == silent && isAspect(lastWord(name)) { // Health is True
		s.means = good
	}
	s.degraded = lastWord(name) == "degraded"
	known := s.means != silent
	switch {
	case isOffer(name): // there is a newer version, or there is none
		s.means = silent
	case known:
	case soundsGood(name):
		s.means = good
	case tellsOfLack(name):
		s.means = trouble
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

// isUnknown reads a condition of which nobody knows whether it holds.
func (r *reading) isUnknown(s sign, name string, depth int, known bool) {
	switch s.means {
	case good:
		rank := unsure(missing(name, depth, known))
		if before, _ := lastTwo(name); before != "" && !sumsUp(name) {
			rank = faint // PropertiesApplied is about a part of the spec
		}
		r.add(sign{means: busy, rank: rank, text: s.text})
	case busy:
		r.add(s)
	}
}

// word reads a condition whose status is a word of the controller's own, as a
// list of steps has it: Deploy is Failed. Of what is bad it says nothing that
// would not be there without it.
func (r *reading) word(s sign, name, state string, depth int, known bool) {
	means := r.phrase(state)
	switch {
	case s.means > good || means == silent:
		r.isUnknown(s, name, depth, known)
	case means == good:
		r.add(sign{means: good, rank: r.present(name, depth), text: s.text})
	default:
		r.add(sign{means: means, rank: missing(name, depth, known), text: s.text})
	}
}

// holds reads a condition that is true. A Ready outranks trouble, which may be
// a warning, but not a change under way, and not what has failed.
func (r *reading) holds(s sign, name, reason string, depth int) {
	because := meaningOf(reason)
	switch {
	case name == "Running" && reason == "Running": // a run of the Operator SDK's Ansible operators is under way
		s.means = busy
	case s.means == silent && because >= trouble:
		s.means, s.rank = trouble, faint
	case s.means >= trouble && because == good: // name and reason contradict each other: it says little
		s.rank = faint
	case s.means == fatal && because == busy: // Degraded with the reason UpdateInProgress: it will pass
		s.means = trouble
	case s.means == trouble:
		s.rank = mild
	case s.means == busy && because == good: // Progressing with the reason NewReplicaSetAvailable: it has arrived
		return
	case s.means == busy && !hasWork(name):
		s.rank = faint
	case s.means == good && r.oneShot && isUnderWay(lastWord(name)):
		s.means, s.rank = busy, faint
	case s.means == good:
		s.rank = r.present(name, depth)
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

// isAspect reports whether a word names what a condition is about rather than a
// state: the condition Health is True when all is well.
func isAspect(last string) bool {
	switch last {
	case "health", "readiness", "availability", "connectivity", "connection":
		return true
	}
	return false
}

// hasWork tells whether a name speaks of a change under way, and not of what
// goes on all the time. What has started may long be over.
func hasWork(name string) bool {
	if lastWord(name) == "started" {
		return false
	}
	for word := range words(name) {
		if isWork(word) || !strings.HasSuffix(word, "ing") && wordMeaning(word) == busy {
			return true
		}
	}
	return false
}

// doesNotHold reads a condition that is false. Where it would be good to have,
// it is on its way, unless the reason speaks of trouble; where it tells of
// work, the work is done, unless the reason speaks of trouble.
func (r *reading) doesNotHold(s sign, name, reason string, depth int, known bool) {
	because := meaningOf(reason)
	switch {
	case s.means == good && isUnwanted(reason) && missing(name, depth, known) < certain: // a part that was not asked for
		return
	case s.means == good && r.ended && depth == 0 && sumsUpEnd(name): // it has run, and not succeeded
		r.add(sign{means: fatal, rank: certain, text: s.text})
	case s.means == good && because >= trouble:
		r.add(sign{means: trouble, rank: missing(name, depth, known), text: s.text})
	case s.means == good && because == idle: // Synced is False, for ReconcilePaused
		r.add(sign{means: idle, rank: missing(name, depth, known), text: s.text})
	case s.means == good:
		r.add(sign{means: busy, rank: missing(name, depth, known), text: s.text})
	case s.means == busy && because >= trouble && isProgress(name):
		r.add(sign{means: because, rank: s.rank, text: s.text})
	case s.means == busy && because >= trouble: // Issuing and ContinuousArchiving are one thing of several
		r.add(sign{means: trouble, rank: min(s.rank, mild), text: s.text})
	case s.means == silent && because >= trouble:
		r.add(sign{means: trouble, rank: faint, text: s.text})
	}
}

// isUnwanted tells of reasons by which a condition does not hold because nobody
// asked for what it tells of: Disabled, NotRequired.
func isUnwanted(reason string) bool {
	before, last := lastTwo(reason)
	switch last {
	case "disabled", "skipped":
		return true
	case "enabled", "requested", "required", "applicable", "needed":
		return before == "not"
	}
	return false
}

// isOffer tells of conditions that say whether there is something newer:
// UpdateAvailable.
func isOffer(name string) bool {
	before, last := lastTwo(name)
	switch before {
	case "update", "updates", "upgrade", "upgrades", "version":
		return last == "available"
	}
	return false
}

// present is the rank of a good condition or flag that holds.
func (r *reading) present(name string, depth int) rank {
	switch {
	case depth > 0:
		return aside
	case strings.EqualFold(name, "ready"), r.oneShot && meaningOf(name) == good:
		return mild
	case sumsUp(name):
		return faint
	}
	return aside
}

// missing is the rank of a good condition that does not hold.
func missing(name string, depth int, known bool) rank {
	switch {
	case !known:
		return faint
	case depth == 0 && (sumsUp(name) || tellsOfSpec(name)):
		return certain
	}
	return mild
}

// unsure is the rank of a condition that nobody knows of, by the rank that it
// has when it does not hold: of a part it says little.
func unsure(r rank) rank {
	if r == mild {
		return faint
	}
	return r
}

// sumsUp tells whether a condition of this name sums up the whole object.
func sumsUp(name string) bool {
	switch strings.ToLower(name) {
	case "ready", "available", "healthy", "succeeded":
		return true
	}
	return false
}

// sumsUpEnd reports whether a condition says how what runs to an end has ended.
func sumsUpEnd(name string) bool {
	switch strings.ToLower(name) {
	case "succeeded", "complete", "completed", "ready":
		return true
	}
	return false
}

// tellsOfSpec tells of conditions that no Ready outranks: Ready speaks of the
// object as it is, they of whether it is as it was asked to be.
func tellsOfSpec(name string) bool {
	for word := range words(name) {
		switch word {
		case "synced", "reconciled", "applied", "accepted", "programmed", "valid", "resolved", "synchronized":
			return true
		}
	}
	return false
}

// soundsGood guesses the polarity of a condition whose name is not in the
// dictionary: participles mostly tell what has been achieved.
func soundsGood(name string) bool {
	last := lastWord(name)
	switch last {
	case "limited", "throttled", "restricted", "deprecated", "skipped", "ignored", "tainted", "cordoned", "drained", "deleted",
		"terminated", "enabled", "disabled", "changed", "modified", "detected", "needed", "required", "requested", "managed", "owned", "scaled":
		return false
	}
	return isParticiple(last)
}

// tellsOfLack tells of conditions, not in the dictionary either, that say what
// is not there: NoMatchingInstance.
func tellsOfLack(name string) bool {
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

// unconfirmed reads the conditions of Crossplane's runtime, also of kinds that
// users compose with it: Synced says that the provider was asked, and only Ready,
// which comes later, that what it made is there.
func (r *reading) unconfirmed(status map[string]any) {
	list, _ := status["conditions"].([]any)
	synced, told := false, false
	for _, entry := range list {
		c, _ := entry.(map[string]any)
		synced = synced || c["type"] == "Synced" && c["reason"] == "ReconcileSuccess"
		told = told || c["type"] == "Ready"
	}
	if synced && !told {
		r.add(sign{means: busy, rank: faint, text: "condition Synced is True (ReconcileSuccess), and there is no condition Ready yet"})
	}
}
