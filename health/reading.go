package health

// A sign is one thing in a status that tells how the object is.
type sign struct {
	means meaning
	rank  rank
	final bool   // with fatal: about this generation, and the controller has given up
	text  string // the sign as people read it
	hint  string // what to think of it

	degraded bool // with fatal: it says Degraded, and not Failed
}

// rank is how much of the object a sign speaks for. A bad sign counts unless a
// good one of at least its rank says that the object is fine nevertheless.
type rank int

const (
	aside   rank = iota // good: one of several conditions, a part
	faint               // good: Available, a phase; bad: a condition with an unknown name, a flag of a part, a message
	mild                // good: Ready, the end of what runs to an end; bad: one of several conditions, a part
	certain             // bad only: the object's own word about all of itself, or about following its spec
)

// reading collects the signs of one status, keeping the worst and the best.
type reading struct {
	generation int64
	oneShot    bool            // running means not done yet
	seen       bool            // the controller says that it has seen this generation
	ended      bool            // of what runs to an end: it has a time of completion
	asked      map[string]bool // states that the spec asks for, in lower case
	bad, good  sign
	idle       string // what says that the object is paused
}

// add keeps a sign if it weighs more than those before it; the outcome does not
// depend on the order in which fields are visited.
func (r *reading) add(s sign) {
	kept := &r.bad
	switch s.means {
	case silent:
		return
	case good:
		kept = &r.good
	case idle:
		r.idle = max(r.idle, s.text)
	}
	if kept.means == silent || s.outweighs(*kept) {
		*kept = s
	}
}

func (s sign) outweighs(other sign) bool {
	switch {
	case s.rank != other.rank:
		return s.rank > other.rank
	case s.means != other.means:
		return s.means > other.means
	}
	return s.text < other.text
}

func (r *reading) decide() (Assessment, bool) {
	switch {
	case r.isBad():
		return r.bad.assessment(), true
	case r.good.means != silent:
		return r.good.assessment(), true
	}
	return Assessment{}, false
}

// isBad tells whether a bad sign counts.
func (r *reading) isBad() bool {
	return r.bad.means != silent && (r.good.means == silent || r.bad.rank > r.good.rank)
}

// assessment is the verdict that a sign leads to. Only what speaks for the
// whole object can say that it has failed; a part may be tried again.
func (s sign) assessment() Assessment {
	verdict := Progressing
	switch {
	case s.means == good:
		verdict = Ready
	case s.means == fatal && s.rank == certain:
		verdict = Failed
	}
	return Assessment{Verdict: verdict, Final: verdict == Failed && s.final, Health: s.grade(), Reason: s.text + s.hint, Rule: "generic"}
}

// grade is the health that a sign speaks of.
func (s sign) grade() Grade {
	switch s.means {
	case idle:
		return Suspended
	case trouble:
		return Degraded
	case fatal:
		if s.rank == certain && !s.degraded {
			return Broken
		}
		return Degraded
	}
	return Ungraded
}

// share is the rank of a bad sign by where it stands: at the top of a status it
// speaks for the whole object, below for a part.
func share(depth int) rank {
	if depth == 0 {
		return certain
	}
	return mild
}
