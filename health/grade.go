package health

// Grade is the health of many objects as one.
type Grade int

// The grades, from the best to the worst.
const (
	Healthy Grade = iota
	Underway
	Degraded
	Broken
)

// String is the grade in the words of RFC-DEPLOY-0001 §5.
func (g Grade) String() string {
	return [...]string{"Healthy", "Progressing", "Degraded", "Failed"}[g]
}

// Grade is what one verdict makes of all objects together (RFC-DEPLOY-0001 §5):
// one that failed makes them Failed, else one that is missing or going away
// Degraded, else one on its way Progressing. What cannot be told counts as
// failed.
func (v Verdict) Grade() Grade {
	switch v {
	case Ready:
		return Healthy
	case Progressing:
		return Underway
	case Missing, Deleting:
		return Degraded
	}
	return Broken
}

// Aggregate is the worst grade of all verdicts; Healthy where there are none.
func Aggregate(verdicts ...Verdict) Grade {
	worst := Healthy
	for _, v := range verdicts {
		worst = max(worst, v.Grade())
	}
	return worst
}
