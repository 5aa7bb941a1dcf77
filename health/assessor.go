package health

import (
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Assessor assesses objects by the user's rules and the built-in ones. The zero
// value has only built-in rules. It is safe for concurrent use and must not be
// copied after first use.
type Assessor struct {
	// RulesOf returns rules for one object that take precedence over Rules,
	// such as its application's, or nil. It must be safe for concurrent use. It
	// may be nil.
	RulesOf func(*unstructured.Unstructured) *Rules
	// Rules is the user's rules file; nil without one.
	Rules *Rules
	// ArgoCD holds the health checks of the ConfigMap argocd-cm; it may be nil.
	ArgoCD *Customizations
	// ArgoCDFolder holds the health checks that are part of Argo CD (see
	// ParseArgoCDFiles). ArgoCD takes precedence.
	ArgoCDFolder *Customizations
	// ColumnsOf returns the printer columns of a kind's CRD, or nil if unknown.
	// They help to read the status of kinds without a rule. It must be safe for
	// concurrent use. It may be nil.
	ColumnsOf func(schema.GroupVersionKind) []Column
	// Strict turns assumed readiness into Unknown, as --strict-readiness does.
	Strict bool

	expressions sync.Map // compiled annotations, by source
	learned     sync.Map // a definition, by GroupVersionKind
}

// Assess assesses an object as returned by the API server and does not modify it.
// A rule that cannot be evaluated gives Unknown, with the error as its reason.
func (a *Assessor) Assess(obj *unstructured.Unstructured) Assessment {
	if obj.GetDeletionTimestamp() != nil {
		return Assessment{Verdict: Deleting, Reason: "it is being deleted", Rule: "deletionTimestamp"}
	}
	assessment := a.firstRule(obj)
	assessment.WithoutGeneration = a.withoutGeneration(obj, assessment)
	return assessment
}

// firstRule returns the result of the first source of rules that applies.
func (a *Assessor) firstRule(obj *unstructured.Unstructured) Assessment {
	s := subjectOf(obj)
	var waits Assessment // by a rule with a wildcard, which does not speak before there is a status
	for _, rules := range []func(*unstructured.Unstructured) (Assessment, bool){
		a.byAnnotation, a.byOwnRules, a.Rules.assess, a.ArgoCD.assess, a.ArgoCDFolder.assess, wellKnown,
	} {
		given, ok := s.by(rules)
		if ok {
			return given
		}
		if waits.Rule == "" {
			waits = given
		}
	}
	if given, ok := kubernetes(s.Object); ok {
		return given
	}
	given := a.byStatus(obj, s)
	if given.NoStatus && waits.Rule != "" {
		waits.NoStatus, waits.Ruled = true, true
		return waits
	}
	return given
}

// byStatus assesses an object of a kind without rules by the words of its status.
func (a *Assessor) byStatus(obj *unstructured.Unstructured, s subject) Assessment {
	if given, ok := a.generic(obj, s); ok {
		return given
	}
	return markSuspended(obj, neutral(s.Object))
}

// byOwnRules assesses an object by RulesOf.
func (a *Assessor) byOwnRules(obj *unstructured.Unstructured) (Assessment, bool) {
	if a.RulesOf == nil {
		return Assessment{}, false
	}
	return a.RulesOf(obj).assess(obj)
}

// wellKnown assesses by the built-in rules. Kinds that may never get a status have rules
// that hold without one.
func wellKnown(obj *unstructured.Unstructured) (Assessment, bool) {
	a, ok := builtin().assess(obj)
	return markSuspended(obj, a), ok
}

// AfterGrace returns the assessment to use after the grace period of one with
// NoStatus or Inconclusive, and for one with SuspendedBySpec: Ready and Assumed,
// or Unknown if the Assessor is strict. It returns others unchanged.
func (a *Assessor) AfterGrace(given Assessment) Assessment {
	switch {
	case given.NoStatus:
		return a.assume(Assessment{Verdict: Ready, Reason: "assumed: no status", Rule: withoutStatus, Assumed: true})
	case given.Inconclusive:
		return a.assume(Assessment{Verdict: Ready, Reason: "assumed: " + given.Reason, Rule: given.Rule, Assumed: true})
	case given.SuspendedBySpec:
		return a.assume(Assessment{Verdict: Ready, Health: GradeSuspended, Reason: "suspended by its manifest: " + given.Reason, Rule: given.Rule, Assumed: true})
	}
	return given
}

// Unconfirmed returns the assessment to use for a Ready that may refer to an
// older spec, if the status has not changed in time: assumed, or Unknown if the
// Assessor is strict. It returns others unchanged.
func (a *Assessor) Unconfirmed(given Assessment) Assessment {
	if given.Verdict != Ready {
		return given
	}
	given.Assumed = true
	given.Reason = "assumed: " + given.Reason + ", which may refer to the spec before the change: its status has not changed since"
	return a.assume(given)
}

// assume turns an assumed assessment into Unknown if the Assessor is strict.
func (a *Assessor) assume(given Assessment) Assessment {
	if a.Strict && given.Assumed {
		given.Verdict, given.Health, given.Assumed = Unknown, GradeUnset, false
		given.Reason += "; strict readiness does not assume it: define when it is ready with the annotation " + readyWhen + " or a rules file"
	}
	return given
}

// neutral is the last source. Like kstatus it treats objects as ready whose status does not
// indicate readiness, but only after a grace period, because the status of a controller that
// has just started does not either.
func neutral(obj *unstructured.Unstructured) Assessment {
	if a := kstatus(obj); a.Verdict == Progressing || a.Verdict == Failed {
		return a
	}
	return Assessment{Verdict: Progressing, Reason: "its status does not say whether it is ready", Rule: "kstatus", Inconclusive: true}
}
