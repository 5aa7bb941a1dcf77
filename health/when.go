package health

import (
	"strings"

	"github.com/ordapply/ordapply/internal/celcondition"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// conditions are the conditions of a rule or of an object's annotations, in
// order of evaluation: failed, degraded, unknown, ready, and, if not ready,
// suspended or missing. Each may be nil.
type conditions struct {
	failed, degraded, unknown *celcondition.Condition
	ready                     *celcondition.Condition
	suspended, missing        *celcondition.Condition

	failedRule, readyRule string
}

// hasAny reports whether there is any condition.
func (c conditions) hasAny() bool {
	for _, e := range []*celcondition.Condition{c.failed, c.degraded, c.unknown, c.ready, c.suspended, c.missing} {
		if e != nil {
			return true
		}
	}
	return false
}

// assess assesses an object by the conditions. Without ready, ok is false
// unless one of the others holds. It ignores a status about an older spec.
func (c conditions) assess(obj *unstructured.Unstructured) (Assessment, bool) {
	if a, stale := isStaleStatus(obj); stale {
		return a, true
	}
	if a, ok := c.terminal(obj); ok {
		return a, true
	}
	reason := ""
	if c.ready != nil {
		ready, absent, err := c.ready.Holds(obj)
		switch {
		case err != nil:
			return invalidRule(c.readyRule, err), true
		case ready:
			return Assessment{Verdict: Ready, Reason: because(c.ready), Rule: c.readyRule}, true
		}
		reason = "not yet " + short(c.ready, "readyWhen")
		if absent != "" {
			reason += ": missing " + absent
		}
	}
	if a, ok := c.waits(obj); ok {
		return a, true
	}
	if c.ready == nil {
		return Assessment{}, false
	}
	return withReportedError(obj, Assessment{Verdict: Progressing, Reason: reason, Rule: c.readyRule}), true
}

// terminal evaluates the conditions that end a run.
func (c conditions) terminal(obj *unstructured.Unstructured) (Assessment, bool) {
	for _, w := range []struct {
		when  *celcondition.Condition
		field string
		grade Grade
	}{{c.failed, "failedWhen", GradeFailed}, {c.degraded, "degradedWhen", GradeDegraded}, {c.unknown, "unknownWhen", GradeUnknown}} {
		a := Assessment{Verdict: Failed, Health: w.grade, Rule: c.failedRule}
		if a, ok := assessIf(w.when, obj, w.field, a); ok {
			return a, true
		}
	}
	return Assessment{}, false
}

// waits evaluates the conditions that explain why an object is not ready.
func (c conditions) waits(obj *unstructured.Unstructured) (Assessment, bool) {
	for _, w := range []struct {
		when  *celcondition.Condition
		field string
		grade Grade
	}{{c.suspended, "suspendedWhen", GradeSuspended}, {c.missing, "missingWhen", GradeMissing}} {
		a := Assessment{Verdict: Progressing, Health: w.grade, Rule: c.readyRule}
		if a, ok := assessIf(w.when, obj, w.field, a); ok {
			return markSuspended(obj, a), true
		}
	}
	return Assessment{}, false
}

// assessIf returns the assessment if the condition holds; a nil condition never
// does.
func assessIf(e *celcondition.Condition, obj *unstructured.Unstructured, field string, given Assessment) (Assessment, bool) {
	if e == nil {
		return Assessment{}, false
	}
	holds, _, err := e.Holds(obj)
	switch {
	case err != nil:
		return invalidRule(given.Rule, err), true
	case !holds:
		return Assessment{}, false
	}
	grade := given.Health
	given.Reason = short(e, field) + " holds"
	given = withReportedError(obj, given)
	given.Health = grade
	return given, true
}

// short returns the condition for display, or the name of its field if it is
// long.
func short(e *celcondition.Condition, field string) string {
	if len(e.Source) > 80 || strings.Contains(e.Source, "\n") {
		return field
	}
	return e.Source
}

// because returns the reason why an object is ready.
func because(e *celcondition.Condition) string {
	if e.Source == "true" {
		return "it exists"
	}
	return short(e, "readyWhen") + " holds"
}

// withReportedError adds what the object reports to the reason. A reported error makes
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
