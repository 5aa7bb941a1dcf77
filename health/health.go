// Package health assesses live objects: is an object ready, progressing or
// failed, and which rule decided it. It is pure: Assess takes an object and
// returns an Assessment; it fetches nothing and never waits.
//
// The first rule that applies to an object decides:
//
//  1. deletion: it has a deletionTimestamp
//  2. its annotations (ordapply.dev/ready-when, failed-when in CEL; Helm's
//     helm.sh/readiness-success and -failure of HIP-0025)
//  3. the user's rules, then Lua checks of an argocd-cm ConfigMap and of Argo CD
//  4. built-in rules for well-known kinds (builtin.yaml, a rules file too)
//  5. for native kinds, kstatus with corrections
//  6. for all other kinds, a generic reading of the status, then kstatus
//
// An Assessor holds the user's rules; its zero value applies 1, 2 and 4 to 6:
//
//	a := health.Assess(certificate) // status.conditions: [{type: Ready, status: "False", …}]
//	a.Verdict                       // Progressing
//	a.Reason                        // what the condition says
//	a.Rule                          // "rule cert-manager.io/Certificate"
//
//	rules, err := health.ParseRules(file) // readyWhen: self.status.phase == "Bound"
//	a = (&health.Assessor{Rules: rules}).Assess(claim)
//
// Waiting is up to the caller: while NeedsGrace, it assesses the object again, and
// when the grace period is over it uses AfterGrace.
package health

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/object"
)

// Verdict is the result of Assess for a gate: Ready opens it, Progressing keeps it
// waiting, and Failed and Unknown end the wait. Its zero value is Unknown.
type Verdict int

// Values of Verdict.
const (
	// Unknown: the state cannot be determined. A rule cannot be evaluated, or
	// nothing in the object indicates its state and assumptions are not
	// allowed. Waiting does not help.
	Unknown Verdict = iota
	// Progressing: not ready yet, and nothing indicates that it cannot become
	// ready.
	Progressing
	// Ready: the object works.
	Ready
	// Failed: the object reports that it will not become ready.
	Failed
	// Deleting: the object is terminating and never ready.
	Deleting
	// Missing: the object does not exist. Assess never returns it; callers that
	// look objects up do.
	Missing
)

// String returns the verdict in lower case: "progressing".
func (v Verdict) String() string {
	return [...]string{"unknown", "progressing", "ready", "failed", "deleting", "missing"}[v]
}

// Assessment is a verdict with its reason and the rule that decided.
type Assessment struct {
	Verdict Verdict
	Reason  string // for display; may quote the object's messages
	Rule    string // "annotation ordapply.dev/ready-when", "rule cert-manager.io/Certificate", "kstatus", …
	// Health is the grade if it differs from the verdict's: Degraded with Progressing
	// or Failed, Unknown with Failed, Suspended with Ready or Progressing, Missing with
	// Progressing; else GradeUnset. Method Grade covers both.
	Health Grade

	// NoStatus is set with Progressing if the object has no status at all. The
	// caller gives the controller a grace period to write one and then uses
	// AfterGrace; for kinds without a status, at once.
	NoStatus bool
	// Ruled is set with NoStatus if a rule for several kinds waits for the status. If the
	// kind of the object can have one, it is not assumed to be ready.
	Ruled bool
	// Inconclusive is set with Progressing if nothing in the status indicates
	// readiness, usually because the controller has written only an
	// observedGeneration or a version. It has a grace period like NoStatus.
	Inconclusive bool
	// Assumed is set with Ready if nothing in the status indicates readiness,
	// or the contrary, after the grace period.
	Assumed bool
	// SuspendedBySpec is set with Progressing if the spec suspends or pauses the object:
	// waiting does not help. If the manifest itself asks for it (SuspendedByManifest),
	// the caller uses AfterGrace at once.
	SuspendedBySpec bool
	// WithoutGeneration is set for custom resources whose status has no
	// observedGeneration. Right after a change the verdict may still be about
	// the previous spec, including a Failed that the change fixes.
	WithoutGeneration bool
	// Final is set with Failed if the controller has given up on the current
	// generation: waiting does not help, even right after a change.
	Final bool
	// Backends are Services that must also have a ready endpoint for Ready to
	// hold, because they serve a webhook configuration. The object does not
	// show it.
	Backends []object.ID
}

// AwaitsStatus reports whether an object without a status is never assumed to be ready, but
// waited for until its timeout, because a rule for it reads the status. expected reports
// whether its kind has a status.
func (a Assessment) AwaitsStatus(expected bool) bool { return a.NoStatus && a.Ruled && expected }

// NeedsGrace reports whether the controller gets a grace period before AfterGrace
// applies: NoStatus or Inconclusive is set. Package apply waits 15s by default.
func (a Assessment) NeedsGrace() bool { return a.NoStatus || a.Inconclusive }

// Assess assesses an object as returned by the API server, by its annotations and
// the built-in rules only. An Assessor adds the user's rules.
func Assess(obj *unstructured.Unstructured) Assessment {
	return (&Assessor{}).Assess(obj)
}
