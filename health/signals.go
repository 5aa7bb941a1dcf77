package health

import (
	"github.com/ordapply/ordapply/internal/judge/status"
)

// fromSignal returns the assessment for a signal of a status.
func fromSignal(s status.Signal) Assessment {
	verdict := Progressing
	switch {
	case s.Means == status.MeaningGood:
		verdict = Ready
	case s.Fails():
		verdict = Failed
	}
	return Assessment{Verdict: verdict, Final: verdict == Failed && s.Final, Health: gradeOf(s), Reason: s.Text + s.Hint, Rule: "generic"}
}

func gradeOf(s status.Signal) Grade {
	switch {
	case s.Means == status.MeaningPaused:
		return GradeSuspended
	case s.Fails() && !s.Degraded:
		return GradeFailed
	case s.Means == status.MeaningTrouble, s.Means == status.MeaningFailed:
		return GradeDegraded
	}
	return GradeUnset
}
