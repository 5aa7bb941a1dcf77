package apply

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/internal/kubeerr"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// A kind is usable when discovery serves it, shortly after its CRD is
// Established; before that a PATCH gets 404. So both the CRD and the custom
// resources wait for discovery. All waits for one group-version share its
// requests.

// kindWait is the wait for one group-version to be served.
type kindWait struct {
	waiters          []kindWaiter
	discoveryPending bool          // a request is in flight
	next             time.Time     // when the next request is due; zero when none is
	batching         bool          // the request is delayed until more CRDs of the group-version are established
	requests         int           // number of discovery requests so far
	delay            time.Duration // backoff after the next request; it doubles
	unlikelyDelay    time.Duration // backoff before a request that probably finds nothing; it doubles
}

type kindWaiter struct {
	step int
	kind schema.GroupVersionKind
}

// firstDelay is the delay before discovery is read again for a kind that is
// about to be served: discovery lags a little behind the CRD.
const firstDelay = 20 * time.Millisecond

// waitForKinds makes a step wait until the API server serves all the kinds.
func (r *run) waitForKinds(i int, kinds ...schema.GroupVersionKind) {
	s := &r.steps[i]
	if s.missingKinds > 0 {
		return
	}
	var missing []schema.GroupVersionKind
	for _, kind := range kinds {
		if _, served := r.kind(kind); !served {
			missing = append(missing, kind)
		}
	}
	s.missingKinds = len(missing)
	for _, kind := range missing {
		w := r.kindWaits[kind.GroupVersion()]
		if w == nil {
			w = &kindWait{delay: r.secondReadDelay(kind), unlikelyDelay: unlikelyKindDelay}
			r.kindWaits[kind.GroupVersion()] = w
		}
		w.waiters = append(w.waiters, kindWaiter{i, kind})
		r.scheduleDiscovery(kind.GroupVersion(), w)
	}
	if s.missingKinds == 0 {
		r.onKindsServed(i)
		return
	}
	r.reportKindWait(i, kinds[0])
}

// reportKindWait reports what a step waits for, and starts KindTimeout for a kind
// that nothing in the stream defines.
func (r *run) reportKindWait(i int, kind schema.GroupVersionKind) {
	s := &r.steps[i]
	switch own := s.manifest.GroupVersionKind() == kind; {
	case s.state == Waiting:
		r.move(i, Waiting, "its kind is not served yet")
	case own && len(s.ProvidedBy) > 0:
		r.move(i, Applying, "its kind, which "+s.ProvidedBy[0].String()+" defines, is not served yet")
	default:
		detail := "its kind is not served yet"
		if !own {
			detail = "it needs an object of kind " + kind.GroupKind().String() + ", which is not served yet"
		}
		r.move(i, Applying, detail)
		if s.ownTimeout == 0 { // otherwise the resource's own timeout bounds this wait too
			r.After(r.applier.KindTimeout, func() { r.onKindTimeout(i, kind) })
		}
	}
}

// batchDelay is how long discovery waits for other CRDs of a group-version,
// so that one request serves them all.
const batchDelay = time.Second

// scheduleDiscovery reads discovery once for all CRDs of a group-version that are being
// applied.
func (r *run) scheduleDiscovery(gv schema.GroupVersion, w *kindWait) {
	switch {
	case w.discoveryPending, w.isScheduled():
	case !r.hasPendingCRDs(gv):
		r.discover(gv, w)
	case !w.batching:
		w.batching = true
		r.After(batchDelay, func() {
			if r.kindWaits[gv] == w && w.batching {
				r.discover(gv, w)
			}
		})
	}
}

func (r *run) discover(gv schema.GroupVersion, w *kindWait) {
	w.discoveryPending, w.batching, w.next = true, false, time.Time{}
	w.requests++
	r.submit(request{op: opDiscover, step: -1, discover: gv})
}

// hasPendingCRDs reports whether a CRD that defines kinds of a group-version is
// sent and not established yet.
func (r *run) hasPendingCRDs(gv schema.GroupVersion) bool {
	return slices.ContainsFunc(r.crdSteps[gv], func(i int) bool {
		s := &r.steps[i]
		return isActive(s.state) && s.missingKinds == 0
	})
}

// handleDiscovery resumes the steps whose kinds are now served, and schedules
// another read for the rest.
func (r *run) handleDiscovery(gv schema.GroupVersion) {
	w := r.kindWaits[gv]
	wants := w.waiters
	w.waiters, w.discoveryPending = nil, false
	for _, want := range wants {
		s := &r.steps[want.step]
		switch _, served := r.kind(want.kind); {
		case s.state.Final():
		case served:
			if s.missingKinds--; s.missingKinds == 0 {
				r.onKindsServed(want.step)
			}
		default:
			w.waiters = append(w.waiters, want)
		}
	}
	if len(w.waiters) == 0 {
		delete(r.kindWaits, gv)
		return
	}
	if slices.ContainsFunc(w.waiters, func(want kindWaiter) bool { return !r.isDefinedByStream(want.kind) }) {
		r.watchKinds()
	}
	r.discoverIn(gv, w, r.nextDelay(w))
}

// isDefinedByStream reports whether a CustomResourceDefinition of the stream defines a
// kind.
func (r *run) isDefinedByStream(kind schema.GroupVersionKind) bool {
	_, defined := r.schemas[kind]
	return defined
}

// secondReadDelay returns the delay before discovery is read a second time for a
// kind.
func (r *run) secondReadDelay(kind schema.GroupVersionKind) time.Duration {
	if r.isDefinedByStream(kind) || r.kindsPolled {
		return firstDelay
	}
	return discoveryPollDelay
}

// nextDelay returns the backoff before the next read of discovery. It
// doubles, so that even a long wait costs few requests; it is capped at
// maxBackoff where no watch triggers reads.
func (r *run) nextDelay(w *kindWait) time.Duration {
	d := w.delay
	if w.delay *= 2; r.kindsPolled {
		w.delay = min(w.delay, maxBackoff)
	}
	return d
}

// isScheduled reports whether another read of discovery is scheduled.
func (w *kindWait) isScheduled() bool { return !w.next.IsZero() }

// discoverIn schedules a read of discovery after d; it returns false when one is
// in flight or due before that.
func (r *run) discoverIn(gv schema.GroupVersion, w *kindWait, d time.Duration) bool {
	at := time.Now().Add(d)
	if w.discoveryPending || w.isScheduled() && !at.Before(w.next) {
		return false
	}
	w.next = at
	kube.ReportRetry(r.Ctx(), kube.Retry{Of: "read the kinds that " + gv.String() + " serves", Attempt: w.requests, Pause: d})
	r.After(d, func() {
		if r.kindWaits[gv] == w && w.next.Equal(at) {
			r.discover(gv, w)
		}
	})
	return true
}

// onKindsServed resumes a step whose kinds are all served: a CRD is ready, a custom
// resource can be sent.
func (r *run) onKindsServed(i int) {
	if r.steps[i].state == Waiting {
		r.finishReady(i, "")
		return
	}
	r.invalidateReads()
	r.requireFreshRead(i)
	r.start(i)
}

// onKindTimeout fails a step whose kind is defined by nothing in the stream and
// was not served in time.
func (r *run) onKindTimeout(i int, kind schema.GroupVersionKind) {
	if _, served := r.kind(kind); served || r.steps[i].state != Applying || r.steps[i].missingKinds == 0 {
		return
	}
	if kind.Version == "" {
		r.fail(i, Failed, fmt.Errorf("it needs an object of kind %s, which is not in this stream, and the cluster still does not serve that kind after %s: "+
			"install its CustomResourceDefinition or operator, or correct the entry in the annotation %s", kind.GroupKind(), max(0, r.applier.KindTimeout), ordering.DependsOnAnnotation))
		return
	}
	r.fail(i, Failed, r.unservedKindError(kind, r.applier.KindTimeout))
}

// failUnservedKinds is called after a failure. It fails the steps that still wait
// for their own kind, which nothing in the stream defines, so that this error
// is reported in the same run.
func (r *run) failUnservedKinds() {
	for i := range r.steps {
		s := &r.steps[i]
		gvk := s.manifest.GroupVersionKind()
		if _, served := r.kind(gvk); s.state == Applying && s.missingKinds > 0 && !served && len(s.ProvidedBy) == 0 {
			r.fail(i, Failed, r.unservedKindError(gvk, time.Since(s.startedAt).Round(time.Second/10)))
		}
	}
}

// unservedKindError returns the error for a kind that nothing in the stream defines
// and that is not served, with the likely reason. waited is how long it was
// waited for, 0 if not at all.
func (r *run) unservedKindError(kind schema.GroupVersionKind, waited time.Duration) error {
	stillNot, stillDidNot := "", ""
	if waited > 0 {
		stillNot, stillDidNot = fmt.Sprintf(" even after %s", waited), fmt.Sprintf(" even after %s", waited)
	}
	if err := r.applier.Cluster.Unreadable(kind.GroupVersion()); err != nil {
		return fmt.Errorf("the backend of %s does not answer%s: %w; check its APIService (kubectl describe apiservice %s.%s)",
			kind.GroupVersion(), stillNot, kubeerr.WithoutURL(err), kind.Version, kind.Group)
	}
	if versions := r.applier.Cluster.Versions(kind.GroupKind()); len(versions) > 0 {
		return fmt.Errorf("the cluster serves kind %s of group %q in %s, not in %s: update the manifest's apiVersion",
			kind.Kind, kind.Group, strings.Join(versions, ", "), kind.Version)
	}
	if object.IsNative(kind.Group) {
		return r.unknownBuiltinError(kind)
	}
	return fmt.Errorf("the cluster does not serve kind %s of %s%s. "+
		"Either its CustomResourceDefinition is missing (install it, or add it to the stream), "+
		"or its apiVersion or kind is misspelled (kubectl api-resources lists what is served), "+
		"or the operator that creates the kind is not running (start it first)",
		kind.Kind, kind.GroupVersion(), stillDidNot)
}

// unknownBuiltinError returns the error for a kind of a built-in API group that the
// cluster does not serve: nothing could be installed to bring it.
func (r *run) unknownBuiltinError(kind schema.GroupVersionKind) error {
	var beside, elsewhere []string
	for _, known := range r.applier.Cluster.NamespacedKinds() {
		if known.Group == kind.Group {
			beside = append(beside, known.Kind)
		}
		if known.Kind == kind.Kind {
			elsewhere = append(elsewhere, known.GroupVersion().String())
		}
	}
	hint := ordering.DidYouMean(kind.Kind, beside)
	if len(elsewhere) > 0 {
		hint = fmt.Sprintf("; it serves %s in %s", kind.Kind, strings.Join(elsewhere, ", "))
	}
	return fmt.Errorf("this cluster has no kind %s in %s: correct the manifest's apiVersion or kind%s", kind.Kind, kind.GroupVersion(), hint)
}

// failUnknownKinds fails, before anything is written, the steps whose kinds
// cannot appear later.
func (r *run) failUnknownKinds() {
	for i := range r.steps {
		s := &r.steps[i]
		gvk := s.manifest.GroupVersionKind()
		if _, served := r.kind(gvk); served || s.state.Final() || r.mayAppear(i, gvk) {
			continue
		}
		r.fail(i, Failed, r.unservedKindError(gvk, 0))
		r.Finished = true
	}
}

// mayAppear reports whether a kind that is not served may be served later in
// the run: the stream defines it, its API server may answer by then, or an
// operator may install it during the wait.
func (r *run) mayAppear(i int, gvk schema.GroupVersionKind) bool {
	s := &r.steps[i]
	if len(s.ProvidedBy) > 0 || r.applier.Cluster.Unreadable(gvk.GroupVersion()) != nil {
		return true
	}
	own, _ := ownTimeout(s.manifest)
	waits := r.applier.KindTimeout > 0 || own > 0 || s.Timeout > 0
	return !object.IsNative(gvk.Group) && (waits || r.applier.DryRun)
}
