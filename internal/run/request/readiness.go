package request

import (
	"fmt"
	"reflect"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/health"
	"github.com/ordapply/ordapply/object"
)

// Identity identifies a state of an object, so that events of earlier states or
// objects can be ignored.
type Identity struct {
	UID        string
	Generation int64
	Version    string // resourceVersion
}

// IdentityOf returns the identity of a live object; zero for nil.
func IdentityOf(live *unstructured.Unstructured) Identity {
	if live == nil {
		return Identity{}
	}
	return Identity{string(live.GetUID()), live.GetGeneration(), live.GetResourceVersion()}
}

// Applied is an object that a run has applied, and the facts behind its readiness besides its
// status.
type Applied struct {
	Manifest    *unstructured.Unstructured
	HasStatus   bool      // its kind has the status subresource
	At          time.Time // when it was applied
	StatusSince time.Time // since when it could have had a status
	IsNew       bool      // this run created the object, judging by its age and earlier reads
	SpecChanged bool      // this run changed the spec of an existing object
	patchStatus any       // the status in the answer to the PATCH, which may describe the spec before
	before      any       // identifies a failure that is older than the run
	mostReady   int64     // the highest ready count; -1: none was seen
	progressAt  time.Time // when that was last exceeded
}

// Start records that the object was applied now. An object without a status could have had
// one since then, or since its creation if it existed: it is unchanged, and this run created
// no workload that may be its controller.
func (a *Applied) Start(live *unstructured.Unstructured, existed bool) {
	a.At = time.Now()
	a.before, a.mostReady, a.progressAt = a.trouble(live), -1, time.Time{}
	a.StatusSince = a.At
	if made := live.GetCreationTimestamp().Time; existed && !made.IsZero() && made.Before(a.At) {
		a.StatusSince = made
	}
}

// RecordChange records whether the PATCH with this answer created the object, changed its spec,
// or neither. before is the object that was read before, and known whether it was known to
// exist or not.
func (a *Applied) RecordChange(before Identity, live *unstructured.Unstructured, known bool) {
	now := IdentityOf(live)
	switch {
	case before.UID != now.UID: // where it could not be read before, decide by age and generation
		a.IsNew = known || time.Since(live.GetCreationTimestamp().Time) < time.Minute
		a.SpecChanged = now.Generation > 1
	case now.Generation == 0: // the kind has no generations
		a.SpecChanged = before.Version != now.Version
	default:
		a.SpecChanged = before.Generation != now.Generation
	}
	if a.SpecChanged && !a.isNative() {
		a.patchStatus = live.Object["status"]
	}
}

// RecordUnchanged records that the run did not change the object.
func (a *Applied) RecordUnchanged() { a.IsNew, a.SpecChanged, a.patchStatus = false, false, nil }

func (a *Applied) isNative() bool { return object.IsNative(a.Manifest.GroupVersionKind().Group) }

// Judge judges the readiness of live objects.
type Judge struct {
	Health *health.Assessor
	Grace  time.Duration // how long a better status is waited for
	Acted  bool          // the run has changed something, or waited for something
	Acting bool          // it may still change something before it waits
	// Unneeded is set when nothing depends on the object any more: a first meaningful status is
	// not waited for.
	Unneeded bool
}

// Assess returns the verdict on the readiness of a live object, as far as it can be
// trusted now. again is when to judge it again even if it does not change; zero for
// never.
func (j Judge) Assess(applied Applied, live *unstructured.Unstructured) (a health.Assessment, again time.Time) {
	a = j.Health.Assess(live)
	if a.SuspendedBySpec && health.SuspendedByManifest(applied.Manifest) {
		return j.Health.AfterGrace(a), time.Time{}
	}
	var ends time.Time
	stale, before := j.isStale(applied, live, a), false
	expected := applied.HasStatus || j.Health.ExpectsStatus(live.GroupVersionKind())
	switch {
	case a.AwaitsStatus(expected):
		return a, time.Time{}
	case a.NoStatus:
		if expected {
			ends = applied.StatusSince.Add(j.Grace)
		}
	case a.Inconclusive:
		ends = applied.neutralSince(live).Add(j.Grace)
	case stale, applied.mayBeTransient(a):
		ends = applied.failureSince(a).Add(j.Grace)
	case (j.Acted || j.Acting) && applied.failedBefore(live, a):
		ends = applied.At.Add(j.ownTime(live))
		before = true
	default:
		return a, time.Time{}
	}
	switch waits := time.Now().Before(ends); {
	case waits && a.NeedsGrace() && j.Unneeded:
		a = j.Health.AfterGrace(a)
		a.Reason += "; not waited for, because nothing depends on it"
		return a, time.Time{}
	case waits:
		switch {
		case a.NoStatus:
			a.Reason += fmt.Sprintf("; waiting up to %s for one, unless annotation ordapply.dev/ready-when says when it is ready", j.Grace)
		case stale && a.Verdict == health.Ready:
			a.Reason += "; it may refer to the spec before the change"
		case before:
			a.Reason += fmt.Sprintf("; it failed before this run, and has %s to recover", j.ownTime(live))
		}
		if a.Verdict = health.Progressing; before && !j.Acted {
			ends = time.Now().Add(actingDelay)
		}
		return a, ends
	case stale:
		return j.Health.Unconfirmed(a), time.Time{}
	}
	return j.Health.AfterGrace(a), time.Time{}
}

// actingDelay is the pause before a failure that the run may be about to repair is judged
// again.
const actingDelay = time.Second

// isStale reports whether a verdict may describe the spec before the change:
// this run changed the spec, the status has no observedGeneration, and it is
// the same as in the answer to the PATCH.
func (j Judge) isStale(applied Applied, live *unstructured.Unstructured, a health.Assessment) bool {
	if !a.WithoutGeneration || !applied.SpecChanged || !endsWait(a.Verdict) || !reflect.DeepEqual(live.Object["status"], applied.patchStatus) {
		return false
	}
	return j.isFromStatus(live, a)
}

// isFromStatus reports whether a verdict depends on the status of an object.
func (j Judge) isFromStatus(live *unstructured.Unstructured, a health.Assessment) bool {
	bare := &unstructured.Unstructured{Object: make(map[string]any, len(live.Object))}
	for key, value := range live.Object {
		if key != "status" {
			bare.Object[key] = value
		}
	}
	without := j.Health.Assess(bare)
	return without.Verdict != a.Verdict || without.Rule != a.Rule || without.Reason != a.Reason
}

// mayBeTransient reports whether a failure may be transient: the controller of
// a custom resource may have only started on this run's change. It is not when
// the controller reports the failure as final for this generation.
func (a Applied) mayBeTransient(found health.Assessment) bool {
	switch {
	case found.Verdict == health.Failed && found.WithoutGeneration: // unchanged objects too: an earlier wave may repair them
		return true
	case found.Final || a.isNative() || !a.IsNew && !a.SpecChanged:
		return false
	}
	return found.Verdict == health.Failed || found.Verdict == health.Unknown
}

// endsWait reports whether a verdict ends the wait.
func endsWait(v health.Verdict) bool {
	return v == health.Ready || v == health.Failed || v == health.Unknown
}

// neutralSince returns the time since which a controller could have written a
// meaningful status: its creation if this run changed nothing in it,
// otherwise the time when it was applied.
func (a Applied) neutralSince(live *unstructured.Unstructured) time.Time {
	if made := live.GetCreationTimestamp().Time; !a.IsNew && !a.SpecChanged && !made.IsZero() && made.Before(a.At) {
		return made
	}
	return a.At
}
