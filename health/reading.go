package health

// signal is one indication of an object's state in its status.
type signal struct {
	means  meaning
	weight weight
	final  bool   // with fatal: about this generation, and the controller has given up
	text   string // for display
	hint   string // explanation for display

	degraded bool // with fatal: Degraded instead of Failed
}

// weight says how much of the object a sign covers. A bad sign counts unless a
// good sign of at least the same rank contradicts it.
type weight int

const (
	weightNone   weight = iota // good: one of several conditions, a part
	weightLow                  // good: Available, a phase; bad: an unknown condition, a flag of a part, a message
	weightMedium               // good: Ready, completion of a one-shot kind; bad: one of several conditions, a part
	weightHigh                 // bad only: about the whole object, or about conformance to its spec
)

// statusSignals collects the signs of a status and keeps the worst and the best.
type statusSignals struct {
	generation int64
	oneShot    bool            // runs to completion
	seen       bool            // the controller has observed the current generation
	ended      bool            // of one-shot kinds: it has a completion time
	desired    map[string]bool // states that the spec asks for, in lower case
	bad, good  signal
	idle       string // what indicates that the object is paused
}

// add keeps a sign if it outweighs those before it. The result does not depend
// on the order of fields.
func (r *statusSignals) add(s signal) {
	kept := &r.bad
	switch s.means {
	case meaningNone:
		return
	case meaningGood:
		kept = &r.good
	case meaningPaused:
		r.idle = max(r.idle, s.text)
	}
	if kept.means == meaningNone || s.outweighs(*kept) {
		*kept = s
	}
}

func (s signal) outweighs(other signal) bool {
	switch {
	case s.weight != other.weight:
		return s.weight > other.weight
	case s.means != other.means:
		return s.means > other.means
	}
	return s.text < other.text
}

func (r *statusSignals) decide() (Assessment, bool) {
	switch {
	case r.isBad():
		return r.bad.assessment(), true
	case r.good.means != meaningNone:
		return r.good.assessment(), true
	}
	return Assessment{}, false
}

// isBad reports whether a bad sign counts.
func (r *statusSignals) isBad() bool {
	return r.bad.means != meaningNone && (r.good.means == meaningNone || r.bad.weight > r.good.weight)
}

// assessment returns the assessment for a sign. Only signs about the whole
// object can mean Failed; a part may be retried.
func (s signal) assessment() Assessment {
	verdict := Progressing
	switch {
	case s.means == meaningGood:
		verdict = Ready
	case s.means == meaningFailed && s.weight == weightHigh:
		verdict = Failed
	}
	return Assessment{Verdict: verdict, Final: verdict == Failed && s.final, Health: s.grade(), Reason: s.text + s.hint, Rule: "generic"}
}

// grade returns the grade for a sign.
func (s signal) grade() Grade {
	switch s.means {
	case meaningPaused:
		return GradeSuspended
	case meaningTrouble:
		return GradeDegraded
	case meaningFailed:
		if s.weight == weightHigh && !s.degraded {
			return GradeFailed
		}
		return GradeDegraded
	}
	return GradeUnset
}

// weightAtDepth returns the rank of a bad sign by its depth: top-level fields describe
// the whole object, deeper ones a part.
func weightAtDepth(depth int) weight {
	if depth == 0 {
		return weightHigh
	}
	return weightMedium
}
