package health

// Grade is the health of an object or of several objects, in the terms of
// RFC-DEPLOY-0001 §5 and Argo CD. A Verdict decides what a gate does; a Grade
// describes the object: an object that waits for a missing image and one whose
// rollout continues both have the verdict Progressing, but the grades Degraded
// and Progressing.
type Grade int

// Values of Grade, from best to worst.
const (
	GradeUnset       Grade = iota // none; the zero value
	GradeHealthy                  // it works
	GradeSuspended                // its spec, or a user, asks the controller to pause
	GradeProgressing              // work is in progress
	GradeMissing                  // it, or what it creates, does not exist
	GradeDegraded                 // an error that may still be resolved
	GradeUnknown                  // it cannot be decided
	GradeFailed                   // its controller has given up
)

// String returns the grade in the terms of RFC-DEPLOY-0001 §5, "Degraded"; ""
// for GradeUnset.
func (g Grade) String() string {
	return [...]string{"", "Healthy", "Suspended", "Progressing", "Missing", "Degraded", "Unknown", "Failed"}[g]
}

// Grade returns the grade of an object if only the verdict is known; for
// Deleting it is GradeDegraded.
func (v Verdict) Grade() Grade {
	switch v {
	case Ready:
		return GradeHealthy
	case Progressing:
		return GradeProgressing
	case Missing:
		return GradeMissing
	case Deleting:
		return GradeDegraded
	case Unknown:
		return GradeUnknown
	}
	return GradeFailed
}

// Grade returns the health of the assessed object: the field Health if it is set,
// else the verdict's.
func (a Assessment) Grade() Grade {
	if a.Health != GradeUnset {
		return a.Health
	}
	return a.Verdict.Grade()
}

// Aggregate returns the health of several objects (RFC-DEPLOY-0001 §5.5):
// Failed if any is failed or unknown; else Degraded if any is degraded or
// missing; else Progressing if any is progressing; else Suspended if any is
// suspended; else Healthy, also if there are none.
func Aggregate(grades ...Grade) Grade {
	worst := GradeHealthy
	for _, g := range grades {
		switch g {
		case GradeUnknown:
			g = GradeFailed
		case GradeMissing:
			g = GradeDegraded
		}
		worst = max(worst, g)
	}
	return worst
}
