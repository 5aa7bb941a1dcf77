package health

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/internal/judge/status"
	"github.com/ordapply/ordapply/object"
)

// subject is an object as the rules see it: its status says nothing about an older
// generation of the spec. Rules would otherwise take the state of an earlier spec for the
// present one's.
type subject struct {
	status.Current
	stale *Assessment // of an object whose whole status is about an older generation; nil otherwise
}

// subjectOf returns an object for the rules.
func subjectOf(obj *unstructured.Unstructured) subject {
	s := subject{Current: status.CurrentOf(obj)}
	stale, isStale := isStaleStatus(obj)
	switch {
	case !isStale:
	case status.IsDefault(status.Status(obj)): // no controller has written it
		s.Object = status.WithStatus(obj, nil)
	default:
		s.stale = &stale
	}
	return s
}

// by assesses the subject by one source of rules. If conditions were left out, Ready must
// hold without them and with them unknown: that no condition is False is no evidence when
// none is left.
func (s subject) by(rules func(*unstructured.Unstructured) (Assessment, bool)) (Assessment, bool) {
	given, ok := rules(s.Object)
	switch {
	case !ok || s.Outdated == "" && s.stale == nil:
		return given, ok
	case s.stale != nil:
		return markSuspended(s.Object, *s.stale), true
	case given.Verdict == Ready && s.Unsure != nil:
		if unsure, _ := rules(s.Unsure); unsure.Verdict != Ready {
			return Assessment{Verdict: Progressing, Reason: s.Outdated, Rule: given.Rule}, true
		}
	case given.Verdict == Progressing:
		given.Reason = s.Outdated + " (" + given.Reason + ")"
	}
	return given, ok
}

// isStaleStatus reports whether the controller has not observed the current spec.
func isStaleStatus(obj *unstructured.Unstructured) (Assessment, bool) {
	seen, ok := status.ObservedGeneration(obj)
	if !ok || seen >= obj.GetGeneration() {
		return Assessment{}, false
	}
	if seen < 1 { // some start with -1
		return Assessment{Verdict: Progressing, Rule: "observedGeneration", Reason: "its controller has not observed it yet"}, true
	}
	return Assessment{
		Verdict: Progressing, Rule: "observedGeneration",
		Reason: fmt.Sprintf("its controller has observed generation %d, and the generation is %d", seen, obj.GetGeneration()),
	}, true
}

// withoutGeneration reports whether an assessment of a custom resource may be about an older
// spec: its status has no observedGeneration, and the verdict does not follow from its
// conditions that have one.
func (a *Assessor) withoutGeneration(obj *unstructured.Unstructured, given Assessment) bool {
	if _, dated := status.ObservedGeneration(obj); dated || object.IsNative(obj.GroupVersionKind().Group) {
		return false
	}
	dated, ok := status.DatedOf(obj)
	return !ok || given.Verdict != Progressing && a.firstRule(dated).Verdict != given.Verdict
}
