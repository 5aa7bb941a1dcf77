package wait

import (
	"context"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/internal/run/loop"
	"github.com/ordapply/ordapply/kube"
)

// KindRun is the run whose steps wait for kinds.
type KindRun struct {
	IsDefined func(schema.GroupVersionKind) bool // reports whether the stream defines a kind
	// HasPendingCRDs reports whether a CustomResourceDefinition that defines kinds of a
	// group-version is sent and not established yet.
	HasPendingCRDs func(schema.GroupVersion) bool
	HasEnded       func(step int) bool
	OnServed       func(step int) // all the kinds that a step waits for are served
}

// KindWaiter waits until the API server serves kinds. All waits for one group-version share its
// requests.
type KindWaiter struct {
	run     KindRun
	loop    *loop.Loop
	cluster kube.Cluster
	waits   map[schema.GroupVersion]*wait
	missing map[int]int // by step: the number of kinds that it waits for
	watched bool        // the watch for new kinds was started
	polled  bool        // new kinds are polled: they may not be watched
}

// wait is the wait for one group-version to be served.
type wait struct {
	waiters       []waiter
	pending       bool          // a discovery request is in flight
	next          time.Time     // when the next request is due; zero when none is
	batching      bool          // the request is delayed until more CRDs of the group-version are established
	requests      int           // number of discovery requests so far
	delay         time.Duration // backoff after the next request; it doubles
	unlikelyDelay time.Duration // backoff before a request that probably finds nothing; it doubles
}

type waiter struct {
	step int
	kind schema.GroupVersionKind
}

// NewKindWaiter returns a Waiter for the steps of a run.
func NewKindWaiter(l *loop.Loop, cluster kube.Cluster, run KindRun) *KindWaiter {
	return &KindWaiter{run: run, loop: l, cluster: cluster, waits: map[schema.GroupVersion]*wait{}, missing: map[int]int{}}
}

const (
	// firstDelay is the delay before discovery is read again for a kind that is
	// about to be served: discovery lags a little behind the CRD.
	firstDelay = 20 * time.Millisecond
	// batchDelay is how long discovery waits for other CRDs of a group-version,
	// so that one request serves them all.
	batchDelay = time.Second
	// pollDelay is the delay before discovery is read again without a change of a
	// CustomResourceDefinition or an APIService.
	pollDelay = 2 * time.Second
	// unlikelyDelay is the delay before discovery is read because of a change
	// that is probably about another kind of the group.
	unlikelyDelay = time.Second
)

// IsWaiting reports whether a step waits for kinds.
func (w *KindWaiter) IsWaiting(step int) bool { return w.missing[step] > 0 }

// Await makes a step, which waits for no kinds yet, wait until the API server serves all
// the kinds. It reports false, and calls OnServed, when it does.
func (w *KindWaiter) Await(step int, kinds ...schema.GroupVersionKind) bool {
	missing := slices.DeleteFunc(slices.Clone(kinds), w.isServed)
	if len(missing) == 0 {
		w.run.OnServed(step)
		return false
	}
	w.missing[step] = len(missing)
	for _, kind := range missing {
		gv := kind.GroupVersion()
		if w.waits[gv] == nil {
			w.waits[gv] = &wait{delay: w.secondReadDelay(kind), unlikelyDelay: unlikelyDelay}
		}
		w.waits[gv].waiters = append(w.waits[gv].waiters, waiter{step, kind})
		w.scheduleDiscovery(gv, w.waits[gv])
	}
	return true
}

func (w *KindWaiter) isServed(kind schema.GroupVersionKind) bool {
	_, served := kube.KindsOf(w.cluster)(kind)
	return served
}

// scheduleDiscovery reads discovery once for all CRDs of a group-version that are being
// applied.
func (w *KindWaiter) scheduleDiscovery(gv schema.GroupVersion, a *wait) {
	switch {
	case a.pending, a.isScheduled():
	case !w.run.HasPendingCRDs(gv):
		w.discover(gv, a)
	case !a.batching:
		a.batching = true
		w.loop.After(batchDelay, func() {
			if w.waits[gv] == a && a.batching {
				w.discover(gv, a)
			}
		})
	}
}

func (w *KindWaiter) discover(gv schema.GroupVersion, a *wait) {
	a.pending, a.batching, a.next = true, false, time.Time{}
	a.requests++
	w.loop.Enqueue(func(ctx context.Context) func() {
		_ = w.cluster.Refresh(ctx, gv) // an error shows as kinds that stay unserved
		return func() { w.handleDiscovery(gv) }
	})
}

// handleDiscovery resumes the steps whose kinds are now served, and schedules
// another read for the rest.
func (w *KindWaiter) handleDiscovery(gv schema.GroupVersion) {
	a := w.waits[gv]
	waiters := a.waiters
	a.waiters, a.pending = nil, false
	for _, want := range waiters {
		switch served := w.isServed(want.kind); {
		case w.run.HasEnded(want.step):
		case served:
			if w.missing[want.step]--; w.missing[want.step] == 0 {
				w.run.OnServed(want.step)
			}
		default:
			a.waiters = append(a.waiters, want)
		}
	}
	if len(a.waiters) == 0 {
		delete(w.waits, gv)
		return
	}
	if slices.ContainsFunc(a.waiters, func(want waiter) bool { return !w.run.IsDefined(want.kind) }) {
		w.watchDefinitions()
	}
	w.discoverIn(gv, a, w.nextDelay(a))
}

// secondReadDelay returns the delay before discovery is read a second time for a
// kind.
func (w *KindWaiter) secondReadDelay(kind schema.GroupVersionKind) time.Duration {
	if w.run.IsDefined(kind) || w.polled {
		return firstDelay
	}
	return pollDelay
}

// nextDelay returns the backoff before the next read of discovery. It
// doubles, so that even a long wait costs few requests; it is capped at
// loop.MaxBackoff where no watch triggers reads.
func (w *KindWaiter) nextDelay(a *wait) time.Duration {
	d := a.delay
	if a.delay *= 2; w.polled {
		a.delay = min(a.delay, loop.MaxBackoff)
	}
	return d
}

// isScheduled reports whether another read of discovery is scheduled.
func (a *wait) isScheduled() bool { return !a.next.IsZero() }

// discoverIn schedules a read of discovery after d; it returns false when one is
// in flight or due before that.
func (w *KindWaiter) discoverIn(gv schema.GroupVersion, a *wait, d time.Duration) bool {
	at := time.Now().Add(d)
	if a.pending || a.isScheduled() && !at.Before(a.next) {
		return false
	}
	a.next = at
	kube.ReportRetry(w.loop.Ctx(), kube.Retry{Of: "read the kinds that " + gv.String() + " serves", Attempt: a.requests, Pause: d})
	w.loop.After(d, func() {
		if w.waits[gv] == a && a.next.Equal(at) {
			w.discover(gv, a)
		}
	})
	return true
}

// A kind that is installed outside the stream shows as a change of a
// CustomResourceDefinition or an APIService. Both are watched as metadata
// only: a cluster may have a thousand CRDs of a megabyte each. Their names
// show which group-version to refresh.

// watchDefinitions starts the watch for kinds that the stream does not define, once
// for all of them.
func (w *KindWaiter) watchDefinitions() {
	if w.watched {
		return
	}
	w.watched = true
	for _, gvk := range kube.DefiningKinds() {
		kind, served := kube.KindsOf(w.cluster)(gvk)
		if !served {
			w.poll(gvk)
			continue
		}
		w.loop.StartWatch(w.cluster, loop.WatchKey{Resource: kind.Resource, Metadata: true}, kind, func(c loop.KeyedWatchEvent) {
			if c.Forbidden != nil {
				w.poll(gvk)
				return
			}
			w.handleDefinitionChange(gvk.Kind, c.WatchEvent)
		})
	}
}

// poll polls discovery where CustomResourceDefinitions cannot be
// watched. It does nothing for APIServices: they seldom add a kind, and the
// unprompted reads find it.
func (w *KindWaiter) poll(definition schema.GroupVersionKind) {
	if definition.Kind == "APIService" {
		return
	}
	w.polled = true
	for gv, a := range w.waits {
		a.delay = firstDelay
		w.discoverIn(gv, a, w.nextDelay(a))
	}
}

// handleDefinitionChange refreshes the group-versions that a change may have added.
func (w *KindWaiter) handleDefinitionChange(definition string, c kube.WatchEvent) {
	if c.Deleted {
		return
	}
	for gv, a := range w.waits {
		for _, obj := range c.Objects {
			switch likelihoodOf(definition, obj.GetName(), gv, a) {
			case likely:
				if !c.Listed {
					a.delay = firstDelay
				}
				w.discoverIn(gv, a, firstDelay)
			case possible:
				if !c.Listed && w.discoverIn(gv, a, a.unlikelyDelay) {
					a.unlikelyDelay *= 2
				}
			}
		}
	}
}

// likelihood is how likely an object defines a kind.
type likelihood int

const (
	unlikely likelihood = iota
	possible
	likely
)

// likelihoodOf estimates by its name whether a CustomResourceDefinition
// (PLURAL.GROUP) or an APIService (VERSION.GROUP) defines a kind that is
// waited for. The plural is guessed, so any CRD of the group may.
func likelihoodOf(definition, name string, gv schema.GroupVersion, a *wait) likelihood {
	first, group, _ := strings.Cut(name, ".")
	if group != gv.Group {
		return unlikely
	}
	if definition == "APIService" {
		if gv.Version == "" || gv.Version == first {
			return likely
		}
		return unlikely
	}
	for _, want := range a.waiters {
		if plural, _ := meta.UnsafeGuessKindToResource(want.kind); plural.Resource == first {
			return likely
		}
	}
	return possible
}
