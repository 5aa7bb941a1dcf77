package health

import (
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// pair is what a rule or an object's annotations say: when the object has
// failed, and when it is ready. Either may be nil; failed goes first.
type pair struct {
	failed, ready         *expression
	failedRule, readyRule string
}

// assess judges by the pair. Without ready, it speaks of failure only. A
// status that is about an older spec is not looked at.
func (p pair) assess(obj *unstructured.Unstructured) (Assessment, bool) {
	status, _ := obj.Object["status"].(map[string]any)
	if a, stale := behind(obj, status); stale {
		return a, true
	}
	if p.failed != nil {
		switch fails, _, err := p.failed.holds(obj); {
		case err != nil:
			return unusable(p.failedRule, err), true
		case fails:
			return Assessment{Verdict: Failed, Reason: explain(obj, p.failed.short("failedWhen")+" holds"), Rule: p.failedRule}, true
		}
	}
	if p.ready == nil {
		return Assessment{}, false
	}
	ready, absent, err := p.ready.holds(obj)
	switch {
	case err != nil:
		return unusable(p.readyRule, err), true
	case ready:
		return Assessment{Verdict: Ready, Reason: p.ready.because(), Rule: p.readyRule}, true
	}
	reason := "not yet " + p.ready.short("readyWhen")
	if absent != "" {
		reason += ": there is no " + absent
	}
	return Assessment{Verdict: Progressing, Reason: explain(obj, reason), Rule: p.readyRule}, true
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

// explain puts what the object itself says about its trouble before the
// condition that it does not meet.
func explain(obj *unstructured.Unstructured, condition string) string {
	if says := complaint(obj); says != "" {
		return says + " (" + condition + ")"
	}
	return condition
}

// unusable is the verdict when a rule itself is wrong.
func unusable(rule string, err error) Assessment {
	return Assessment{Verdict: Unknown, Reason: strings.ReplaceAll(err.Error(), "\n", "; "), Rule: rule}
}
