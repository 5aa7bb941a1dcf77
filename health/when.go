package health

import (
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/internal/judge/condition"
)

// conditions are the conditions of a rule or of an object's annotations, in
// order of evaluation: failed, degraded, unknown, ready, and, if not ready,
// suspended or missing.
type conditions []when

// when is a condition and the verdict on an object that meets it.
type when struct {
	*condition.Condition
	field, rule string
	verdict     Verdict
	grade       Grade
}

// assess assesses an object by the conditions. Without ready, ok is false
// unless one of the others holds.
func (c conditions) assess(obj *unstructured.Unstructured) (given Assessment, ok bool) {
	for _, w := range c {
		holds, absent, err := w.Holds(obj)
		switch {
		case err != nil:
			return invalidRule(w.rule, err), true
		case holds:
			return w.assessment(obj), true
		case w.verdict == Ready:
			given, ok = Assessment{Verdict: Progressing, Reason: "not yet " + w.short(), Rule: w.rule}, true
			if absent != "" {
				given.Reason += ": missing " + absent
			}
		}
	}
	if ok {
		given = withReportedError(obj, given)
	}
	return given, ok
}

// assessment returns the assessment of an object that meets the condition.
func (w when) assessment(obj *unstructured.Unstructured) Assessment {
	if w.verdict == Ready {
		return Assessment{Verdict: Ready, Reason: w.because(), Rule: w.rule}
	}
	given := withReportedError(obj, Assessment{Verdict: w.verdict, Reason: w.short() + " holds", Rule: w.rule})
	if given.Health = w.grade; w.verdict == Progressing {
		return markSuspended(obj, given)
	}
	return given
}

// short returns the condition for display, or the name of its field if it is
// long.
func (w when) short() string {
	if len(w.Source) > 80 || strings.Contains(w.Source, "\n") {
		return w.field
	}
	return w.Source
}

// because returns the reason why an object is ready.
func (w when) because() string {
	if w.Source == "true" {
		return "it exists"
	}
	return w.short() + " holds"
}

// withReportedError adds the object's own report to the reason. A reported error makes
// an object that is not ready Degraded.
func withReportedError(obj *unstructured.Unstructured, given Assessment) Assessment {
	if text, grade := describeUnhealthy(obj); text != "" {
		given.Reason = text + " (" + given.Reason + ")"
		if grade >= GradeDegraded && given.Verdict == Progressing {
			given.Health = GradeDegraded
		}
	}
	return given
}

// invalidRule is the assessment if a rule cannot be evaluated.
func invalidRule(rule string, err error) Assessment {
	return Assessment{Verdict: Unknown, Reason: strings.ReplaceAll(err.Error(), "\n", "; "), Rule: rule}
}
