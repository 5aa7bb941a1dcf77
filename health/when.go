package health

import (
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// conditions are what a rule or an object's annotations say: when the object has
// failed, is degraded or unknown, when it is ready, and when one that is not
// ready is suspended or missing. Each may be nil; they are asked in this order.
type conditions struct {
	failed, degraded, unknown *expression
	ready                     *expression
	suspended, missing        *expression

	failedRule, readyRule string
}

// speaks reports whether there is any condition.
func (c conditions) speaks() bool {
	for _, e := range []*expression{c.failed, c.degraded, c.unknown, c.ready, c.suspended, c.missing} {
		if e != nil {
			return true
		}
	}
	return false
}

// assess judges by the conditions. Without ready, they speak only of an object
// for which one of them holds. A status that is about an older spec is not looked
// at.
func (c conditions) assess(obj *unstructured.Unstructured) (Assessment, bool) {
	status, _ := obj.Object["status"].(map[string]any)
	if a, stale := behind(obj, status); stale {
		return a, true
	}
	if a, ok := c.halts(obj); ok {
		return a, true
	}
	reason := ""
	if c.ready != nil {
		ready, absent, err := c.ready.holds(obj)
		switch {
		case err != nil:
			return unusable(c.readyRule, err), true
		case ready:
			return Assessment{Verdict: Ready, Reason: c.ready.because(), Rule: c.readyRule}, true
		}
		reason = "not yet " + c.ready.short("readyWhen")
		if absent != "" {
			reason += ": there is no " + absent
		}
	}
	if a, ok := c.waits(obj); ok {
		return a, true
	}
	if c.ready == nil {
		return Assessment{}, false
	}
	return explained(obj, Assessment{Verdict: Progressing, Reason: reason, Rule: c.readyRule}), true
}

// halts judges by the conditions that end a run.
func (c conditions) halts(obj *unstructured.Unstructured) (Assessment, bool) {
	for _, w := range []struct {
		when  *expression
		field string
		grade Grade
	}{{c.failed, "failedWhen", Broken}, {c.degraded, "degradedWhen", Degraded}, {c.unknown, "unknownWhen", Undetermined}} {
		a := Assessment{Verdict: Failed, Health: w.grade, Rule: c.failedRule}
		if a, ok := w.when.makes(obj, w.field, a); ok {
			return a, true
		}
	}
	return Assessment{}, false
}

// waits judges an object that is not ready by the conditions that say why.
func (c conditions) waits(obj *unstructured.Unstructured) (Assessment, bool) {
	for _, w := range []struct {
		when  *expression
		field string
		grade Grade
	}{{c.suspended, "suspendedWhen", Suspended}, {c.missing, "missingWhen", Absent}} {
		a := Assessment{Verdict: Progressing, Health: w.grade, Rule: c.readyRule}
		if a, ok := w.when.makes(obj, w.field, a); ok {
			return held(obj, a), true
		}
	}
	return Assessment{}, false
}

// makes gives an assessment when a condition holds; a nil one never does.
func (e *expression) makes(obj *unstructured.Unstructured, field string, given Assessment) (Assessment, bool) {
	if e == nil {
		return Assessment{}, false
	}
	holds, _, err := e.holds(obj)
	switch {
	case err != nil:
		return unusable(given.Rule, err), true
	case !holds:
		return Assessment{}, false
	}
	grade := given.Health
	given.Reason = e.short(field) + " holds"
	given = explained(obj, given)
	given.Health = grade
	return given, true
}

// short is the condition as people read it in a line; long ones are known by
// the field that holds them.
func (e *expression) short(field string) string {
	if len(e.source) > 80 || strings.Contains(e.source, "\n") {
		return field
	}
	return e.source
}

// because says why an object is ready.
func (e *expression) because() string {
	if e.source == "true" {
		return "it exists"
	}
	return e.short("readyWhen") + " holds"
}

// explained puts what the object itself says about its trouble before the
// condition that it does not meet. Trouble makes what is not ready Degraded.
func explained(obj *unstructured.Unstructured, given Assessment) Assessment {
	if says, grade := complaint(obj); says != "" {
		given.Reason = says + " (" + given.Reason + ")"
		if grade >= Degraded && given.Verdict == Progressing {
			given.Health = Degraded
		}
	}
	return given
}

// unusable is the verdict when a rule itself is wrong.
func unusable(rule string, err error) Assessment {
	return Assessment{Verdict: Unknown, Reason: strings.ReplaceAll(err.Error(), "\n", "; "), Rule: rule}
}
