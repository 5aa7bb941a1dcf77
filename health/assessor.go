package health

import (
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Assessor judges objects by the user's rules and the built-in ones. The zero
// value has no rules of the user. It may be used from several goroutines, and
// must not be copied after first use.
type Assessor struct {
	// RulesOf gives rules for one object that go before Rules, such as those of
	// the application that it belongs to, and nil where there are none. It is
	// called from several goroutines; nil stands for no such rules at all.
	RulesOf func(*unstructured.Unstructured) *Rules
	// Rules is the user's rules file.
	Rules *Rules
	// ArgoCD holds the health customizations of an argocd-cm ConfigMap.
	ArgoCD *Customizations
	// Strict makes Unknown of what would be assumed to be ready.
	Strict bool

	expressions sync.Map // compiled annotations, by their text
}

// Assess judges an object as the API server returned it. It never changes the
// object.
func (a *Assessor) Assess(obj *unstructured.Unstructured) Assessment {
	if obj.GetDeletionTimestamp() != nil {
		return Assessment{Verdict: Deleting, Reason: "it is being deleted", Rule: "deletionTimestamp"}
	}
	assessment := a.climb(obj)
	assessment.Undated = !IsNative(obj.GroupVersionKind().Group) && !isDated(obj)
	return assessment
}

// climb goes through the rungs that rules stand on.
func (a *Assessor) climb(obj *unstructured.Unstructured) Assessment {
	for _, rung := range []func(*unstructured.Unstructured) (Assessment, bool){
		a.byAnnotation, a.byOwnRules, a.Rules.assess, a.ArgoCD.assess, wellKnown, kubernetes, generic,
	} {
		if assessment, ok := rung(obj); ok {
			return assessment
		}
	}
	return a.assume(assumed(obj))
}

// byOwnRules judges by the rules that are for this object alone.
func (a *Assessor) byOwnRules(obj *unstructured.Unstructured) (Assessment, bool) {
	if a.RulesOf == nil {
		return Assessment{}, false
	}
	return a.RulesOf(obj).assess(obj)
}

// wellKnown judges by the built-in rules. They know what a status means, not
// that there will be one: without one an object is what every other is. The
// rules of users, who know their cluster, wait for what they name.
func wellKnown(obj *unstructured.Unstructured) (Assessment, bool) {
	a, ok := builtin().assess(obj)
	if ok && a.Verdict == Progressing && isEmpty(obj.Object["status"]) {
		a = noStatus(obj)
	}
	return held(obj, a), ok
}

// isDated tells whether a status says which generation it is about.
func isDated(obj *unstructured.Unstructured) bool {
	status, _ := obj.Object["status"].(map[string]any)
	if _, ok := integer(status["observedGeneration"]); ok {
		return true
	}
	list, _ := status["conditions"].([]any)
	for _, c := range list {
		condition, _ := c.(map[string]any)
		if _, ok := integer(condition["observedGeneration"]); ok {
			return true
		}
	}
	return false
}

// AfterGrace is what becomes of an assessment with NoStatus when no status has
// come in time, and of one with Held: ready, or unknown when the Assessor is
// strict. Others stay.
func (a *Assessor) AfterGrace(given Assessment) Assessment {
	switch {
	case given.NoStatus:
		return a.assume(Assessment{Verdict: Ready, Reason: "assumed: no status", Rule: "no status", Assumed: true})
	case given.Held:
		return a.assume(Assessment{Verdict: Ready, Reason: "assumed, for it is held as asked: " + given.Reason, Rule: given.Rule, Assumed: true})
	}
	return given
}

// assume makes of an assumption what the user allows.
func (a *Assessor) assume(given Assessment) Assessment {
	if a.Strict && given.Assumed {
		given.Verdict, given.Assumed = Unknown, false
		given.Reason += "; strict readiness assumes nothing: say when it is ready with the annotation " + readyWhen + " or a rules file"
	}
	return given
}

// assumed is the last rung: kstatus, which knows next to nothing of kinds that
// are not Kubernetes' own, and takes them for ready.
func assumed(obj *unstructured.Unstructured) Assessment {
	if a := kstatus(obj); a.Verdict == Progressing || a.Verdict == Failed {
		return a
	}
	return Assessment{Verdict: Ready, Reason: "assumed: nothing in its status tells how it is", Rule: "kstatus", Assumed: true}
}
