package health

// Grade is the health of an object, or of many as one, in the words of
// RFC-DEPLOY-0001 §5 and of Argo CD. A Verdict says what a gate does with an
// object; a Grade says how the object is: one that waits because an image is
// missing and one that waits because its rollout goes on are both Progressing as
// a verdict, and Degraded and Progressing as grades.
type Grade int

// The grades, from the best to the worst.
const (
	Ungraded     Grade = iota
	Healthy            // it does what it is for
	Suspended          // its spec, or someone, asks the controller to leave it alone
	Underway           // Progressing: on its way
	Absent             // Missing: it is not there, or what it is to make is not
	Degraded           // something is wrong with it that may still be put right
	Undetermined       // Unknown: it cannot be told
	Broken             // Failed: its controller has given up
)

// String is the grade in the words of RFC-DEPLOY-0001 §5.
func (g Grade) String() string {
	return [...]string{"", "Healthy", "Suspended", "Progressing", "Missing", "Degraded", "Unknown", "Failed"}[g]
}

// Grade is that of an object of which only the verdict is known.
func (v Verdict) Grade() Grade {
	switch v {
	case Ready:
		return Healthy
	case Progressing:
		return Underway
	case Missing:
		return Absent
	case Deleting:
		return Degraded
	case Unknown:
		return Undetermined
	}
	return Broken
}

// Grade is the health of the object that was judged.
func (a Assessment) Grade() Grade {
	if a.Health != Ungraded {
		return a.Health
	}
	return a.Verdict.Grade()
}

// Aggregate is the health of many objects together (RFC-DEPLOY-0001 §5.5): one
// that failed makes them Failed, else one that is missing or degraded Degraded,
// else one on its way Progressing, else they are Healthy, as they are when there
// are none. One that is unknown counts as failed. One that is suspended makes
// them Suspended when all others are healthy.
func Aggregate(grades ...Grade) Grade {
	worst := Healthy
	for _, g := range grades {
		switch g {
		case Undetermined:
			g = Broken
		case Absent:
			g = Degraded
		}
		worst = max(worst, g)
	}
	return worst
}
