package status

import (
	"cmp"
)

// Signal is one indication of an object's state in its status.
type Signal struct {
	Means    Meaning
	Final    bool   // with MeaningFailed: about this generation, and the controller has given up
	Degraded bool   // with MeaningFailed: the controller calls it degraded
	Text     string // for display: "condition Ready is False (Pending)"
	Hint     string // continues Text with an explanation, or ""

	weight weight
}

// weight is how much of the object a signal covers. A bad signal counts unless a
// good signal of at least the same weight contradicts it.
type weight int

const (
	weightNone   weight = iota // good: one of several conditions, a part
	weightLow                  // good: Available, a phase; bad: an unknown condition, a flag of a part, a message
	weightMedium               // good: Ready, completion of a one-shot kind; bad: one of several conditions, a part
	weightHigh                 // bad only: about the whole object, or about conformance to its spec
)

// Signals are the signals of one status, of which the worst and the best are kept.
type Signals struct {
	generation int64
	oneShot    bool            // runs to completion
	seen       bool            // the controller has observed the current generation
	ended      bool            // of one-shot kinds: it has a completion time
	desired    map[string]bool // states that the spec asks for, in lower case
	bad, good  Signal
	paused     Signal // the strongest that says that the object is paused
	idle       string // indicates that the object is paused
}

// add keeps a signal if it outweighs earlier ones. The result does not depend on
// the order of fields.
func (r *Signals) add(s Signal) {
	kept := &r.bad
	switch s.Means {
	case MeaningNone:
		return
	case MeaningGood:
		kept = &r.good
	case MeaningPaused:
		r.idle = max(r.idle, s.Text)
		if r.paused.Means == MeaningNone || s.compare(r.paused) > 0 {
			r.paused = s
		}
	}
	if kept.Means == MeaningNone || s.compare(*kept) > 0 {
		*kept = s
	}
}

// compare orders signals: of two, the greater one decides. Of equal ones, the first in the
// order of their texts does.
func (s Signal) compare(other Signal) int {
	return cmp.Or(cmp.Compare(s.weight, other.weight), cmp.Compare(s.Means, other.Means), -cmp.Compare(s.Text, other.Text))
}

// Fails reports whether the whole object has failed. A part that failed may be retried.
func (s Signal) Fails() bool { return s.Means == MeaningFailed && s.weight == weightHigh }

// Decisive returns the signal that decides: the worst, or the best if that contradicts
// it. ok is false if nothing indicates a state.
func (r *Signals) Decisive() (s Signal, ok bool) {
	if bad, ok := r.Unhealthy(); ok {
		return bad, true
	}
	return r.good, r.good.Means != MeaningNone
}

// Unhealthy returns the worst signal. ok is false if there is none or a good signal of at
// least the same weight contradicts it.
//
// While the whole object is paused, an unfinished part stays so: then the pause is the
// worst.
func (r *Signals) Unhealthy() (s Signal, ok bool) {
	if r.bad.Means == MeaningInProgress && r.paused.weight == weightHigh {
		return r.paused, true
	}
	return r.bad, r.bad.Means != MeaningNone && (r.good.Means == MeaningNone || r.bad.weight > r.good.weight)
}

// weightOfTrouble returns the weight of a bad signal by its depth: top-level fields describe
// the whole object, deeper ones a part.
func weightOfTrouble(depth int) weight {
	if depth == 0 {
		return weightHigh
	}
	return weightMedium
}
