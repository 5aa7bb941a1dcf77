package health

import (
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
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
	// ArgoCDFolder holds those that come with Argo CD (ParseArgoCDFiles); ArgoCD
	// goes before it.
	ArgoCDFolder *Customizations
	// ColumnsOf gives the printer columns of a kind's CRD, by which its status is
	// read where no rule knows the kind; nil where they are not known. It is
	// called from several goroutines; nil stands for no columns at all.
	ColumnsOf func(schema.GroupVersionKind) []Column
	// Strict makes Unknown of what would be assumed to be ready.
	Strict bool

	expressions sync.Map // compiled annotations, by their text
	learned     sync.Map // the printer columns of kinds, by their group, version and kind
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
		a.byAnnotation, a.byOwnRules, a.Rules.assess, a.ArgoCD.assess, a.ArgoCDFolder.assess, wellKnown, kubernetes, a.generic,
	} {
		if assessment, ok := rung(obj); ok {
			return assessment
		}
	}
	return held(obj, neutral(obj))
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

// AfterGrace is what becomes of an assessment with NoStatus or Neutral when its
// controller was given its time, and of one with Held: ready, or unknown when the
// Assessor is strict. Others stay.
func (a *Assessor) AfterGrace(given Assessment) Assessment {
	switch {
	case given.NoStatus:
		return a.assume(Assessment{Verdict: Ready, Reason: "assumed: no status", Rule: "no status", Assumed: true})
	case given.Neutral:
		return a.assume(Assessment{Verdict: Ready, Reason: "assumed: " + given.Reason, Rule: given.Rule, Assumed: true})
	case given.Held:
		return a.assume(Assessment{Verdict: Ready, Health: Suspended, Reason: "suspended by its manifest: " + given.Reason, Rule: given.Rule, Assumed: true})
	}
	return given
}

// Unconfirmed is what becomes of a Ready that may be about an older spec when the
// status has not changed in time: ready, but assumed, or unknown when the Assessor
// is strict. Others stay.
func (a *Assessor) Unconfirmed(given Assessment) Assessment {
	if given.Verdict != Ready {
		return given
	}
	given.Assumed = true
	given.Reason = "assumed: " + given.Reason + ", which may be about the spec before the change: its status has not changed since"
	return a.assume(given)
}

// assume makes of an assumption what the user allows.
func (a *Assessor) assume(given Assessment) Assessment {
	if a.Strict && given.Assumed {
		given.Verdict, given.Health, given.Assumed = Unknown, Ungraded, false
		given.Reason += "; strict readiness assumes nothing: say when it is ready with the annotation " + readyWhen + " or a rules file"
	}
	return given
}

// neutral is the last rung: kstatus, which takes for ready what says nothing. A
// controller that has just begun says nothing either, so it is given time.
func neutral(obj *unstructured.Unstructured) Assessment {
	if a := kstatus(obj); a.Verdict == Progressing || a.Verdict == Failed {
		return a
	}
	return Assessment{Verdict: Progressing, Reason: "nothing in its status says whether it is ready", Rule: "kstatus", Neutral: true}
}
