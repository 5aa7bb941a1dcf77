// Package health judges live objects: is this resource ready, still on its
// way, or failed, and which rule says so. It is pure: an object goes in, an
// Assessment comes out; nothing is fetched and nothing waits.
//
// The rules are a ladder, and the first that speaks of the object decides:
//
//  1. it is being deleted
//  2. its own annotations (ordapply.dev/ready-when, failed-when in CEL; Helm's
//     helm.sh/readiness-success and -failure)
//  3. the user's rules file, then Lua customizations of an argocd-cm ConfigMap
//  4. built-in rules for well-known kinds (builtin.yaml, a rules file as well)
//  5. the kinds of Kubernetes itself, by what kstatus knows and gets wrong
//  6. every other kind by a generic reading of its status, and then kstatus
//
// What users bring is held by an Assessor, whose zero value knows rungs 1, 2
// and 4 to 6:
//
//	rules, err := health.ParseRules(data)
//	…
//	assessor := &health.Assessor{Rules: rules}
//	if a := assessor.Assess(deployment); a.Verdict == health.Ready { … }
package health

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/object"
)

// Verdict is what Assess says of an object.
type Verdict int

const (
	// Unknown: it cannot be told. A rule cannot be evaluated, or nothing in
	// the object speaks and assuming is not allowed. Waiting will not help.
	Unknown Verdict = iota
	// Progressing: not there yet, and nothing says that it cannot get there.
	Progressing
	// Ready: the object does what it is for.
	Ready
	// Failed: the object says itself that it will not get ready.
	Failed
	// Deleting: somebody has deleted the object; it is never ready.
	Deleting
	// Missing: there is no object. Assess never says so, who looked for it does.
	Missing
)

// String is the verdict as people read it.
func (v Verdict) String() string {
	return [...]string{"unknown", "progressing", "ready", "failed", "deleting", "missing"}[v]
}

// Assessment is a verdict, what in the object led to it, and the rule that
// spoke.
type Assessment struct {
	Verdict Verdict
	Reason  string // what the object says, for people; it may quote the object's messages
	Rule    string // "annotation ordapply.dev/ready-when", "rule Certificate.cert-manager.io", "kstatus", …
	// Health is how the object is, where the verdict alone does not say so:
	// Degraded with Progressing or Failed, Suspended with Ready or Progressing,
	// Absent with Progressing. The method Grade gives it for every assessment.
	Health Grade

	// NoStatus is set with Progressing when the object has no status at all.
	// Whoever watches it gives its controller some time to write one, and then
	// takes AfterGrace for the verdict; at once where the kind has no status.
	NoStatus bool
	// Neutral is set with Progressing when there is a status and nothing in it says
	// whether the object is ready: as a rule the first thing that a controller
	// writes, an observedGeneration or a version. It is given time as NoStatus is.
	Neutral bool
	// Assumed is set with Ready when the object was given its time, and nothing in
	// its status says that it is ready, and nothing that it is not.
	Assumed bool
	// Held is set with Progressing when the spec tells the controller to leave the
	// object alone (suspend, paused): waiting will not help. Who waits for an
	// object whose manifest asks for that (AsksToBeHeld) takes AfterGrace at once.
	Held bool
	// Undated is set for custom resources whose status does not say which
	// generation of the spec it is about: right after a change the verdict may
	// still be about the spec before it, and Failed be what the change cures.
	Undated bool
	// Final is set with Failed when the controller has given up on this very
	// generation of the spec: waiting will not help, not even right after a change.
	Final bool
	// Backends are Services that must have a ready endpoint before Ready holds:
	// those behind a webhook configuration. Health cannot see them.
	Backends []object.ID
}

// NeedsTime reports whether the controller is to be given time to write a status,
// or more of one, before AfterGrace gives the verdict.
func (a Assessment) NeedsTime() bool { return a.NoStatus || a.Neutral }

// Assess judges an object, as the API server returned it, by the rules that
// come with this package. An Assessor does it by the user's rules too.
func Assess(obj *unstructured.Unstructured) Assessment {
	return (&Assessor{}).Assess(obj)
}
