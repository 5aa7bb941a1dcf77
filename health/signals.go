package health

import (
	"github.com/ordapply/ordapply/internal/statusreader"
)

// fromSignal returns the assessment for a signal of a status.
func fromSignal(s statusreader.Signal) Assessment {
	verdict := Progressing
	switch {
	case s.Means == statusreader.MeaningGood:
		verdict = Ready
	case s.Fails():
		verdict = Failed
	}
	return Assessment{Verdict: verdict, Final: verdict == Failed && s.Final, Health: gradeOf(s), Reason: s.Text + s.Hint, Rule: "generic"}
}

// gradeOf returns the grade for a signal.
func gradeOf(s statusreader.Signal) Grade {
	switch {
	case s.Means == statusreader.MeaningPaused:
		return GradeSuspended
	case s.Fails() && !s.Degraded:
		return GradeFailed
	case s.Means == statusreader.MeaningTrouble, s.Means == statusreader.MeaningFailed:
		return GradeDegraded
	}
	return GradeUnset
}
