package apply

import (
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/health"
	"github.com/ordapply/ordapply/internal/kubeerr"
	"github.com/ordapply/ordapply/internal/loop"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// A resource may need an object that is installed outside the stream
// ("external:" in ordapply.dev/depends-on). The run waits for it when all
// other dependencies are met, up to the timeout of the resource or its wave.

// externalDependency is an object outside the stream that steps wait for.
type externalDependency struct {
	id            object.ID
	kind          kube.Kind
	live          *unstructured.Unstructured // nil when it does not exist
	firstSeen     time.Time                  // when it was first seen
	reason        string                     // why it has not passed the gate ready
	ready         bool
	graceTimerSet bool
	wasUnready    bool  // it was not ready when it was first read
	waiters       []int // steps that start when it passes their gates
}

// passed reports whether the object exists, or is ready, as the gate
// requires.
func (o *externalDependency) passed(gate ordering.Gate) bool {
	return o.ready || gate == ordering.Applied && o.live != nil
}

// awaitExternals makes a step wait for its dependencies outside the stream.
// It returns false when all of them are met.
func (r *run) awaitExternals(i int) bool {
	s := &r.steps[i]
	if r.applier.DryRun || len(s.External) == 0 {
		return false
	}
	r.move(i, Applying, "")
	for _, need := range s.External {
		o := r.externals[need.ID]
		if o == nil {
			if o = r.watchExternal(i, need); o == nil {
				return true // waits for its kind, or failed
			}
		}
		if !o.passed(need.Gate) {
			if !slices.Contains(o.waiters, i) {
				o.waiters = append(o.waiters, i)
			}
			r.move(i, Applying, externalDetail(o, need))
			return true
		}
	}
	return false
}

// externalDetail describes what a step waits for, with a remedy where that
// does not exist.
func externalDetail(o *externalDependency, need ordering.Need) string {
	switch missing := o.live == nil; {
	case need.Why.Rule == ordering.RuleExcluded && missing:
		return fmt.Sprintf("it needs %s, which the selection excludes: %s (%s); apply it first", o.id, o.reason, need.Why.Detail)
	case need.Why.Rule == ordering.RuleExcluded:
		return fmt.Sprintf("it needs %s, which the selection excludes: %s", o.id, o.reason)
	case need.Why.Rule == ordering.RuleExternal && missing:
		return fmt.Sprintf("it needs %s, which is not in this stream: %s (%s); install it, or correct external", o.id, o.reason, need.Why.Detail)
	}
	return fmt.Sprintf("it needs %s, which is not in this stream: %s", o.id, o.reason)
}

// watchExternal starts to watch an object outside the stream. It returns nil
// when the step must wait for the kind to be served, or has failed.
func (r *run) watchExternal(i int, need ordering.Need) *externalDependency {
	gvk := schema.GroupVersionKind{Group: need.ID.Group, Kind: need.ID.Kind}
	kind, served := r.kind(gvk)
	if !served {
		r.waitForKinds(i, gvk)
		return nil
	}
	switch {
	case kind.Namespaced && need.ID.Namespace == "":
		r.fail(i, Failed, fmt.Errorf("it needs %s, whose kind is namespaced: write external:%s/namespaces/NAMESPACE/%s/%s", need.ID, need.ID.Group, need.ID.Kind, need.ID.Name))
		return nil
	case !kind.Namespaced && need.ID.Namespace != "":
		r.fail(i, Failed, fmt.Errorf("it needs %s, whose kind is cluster-scoped: write external:%s/%s/%s", need.ID, need.ID.Group, need.ID.Kind, need.ID.Name))
		return nil
	}
	o := &externalDependency{id: need.ID, kind: kind, reason: "it does not exist"}
	r.externals[need.ID] = o
	key := loop.WatchKey{Resource: kind.Resource, Namespace: need.ID.Namespace, Name: need.ID.Name}
	r.externalsByWatch[key] = o
	r.StartWatch(r.applier.Cluster, key, kind, r.handleWatchEvent)
	return o
}

// handleExternalChange handles a change of an object outside the stream.
func (r *run) handleExternalChange(o *externalDependency, c kube.WatchEvent) {
	switch {
	case c.Forbidden != nil:
		r.pollExternal(o)
	case c.Deleted, c.Listed && len(c.Objects) == 0:
		r.updateExternal(o, nil)
	default:
		for _, live := range c.Objects {
			r.updateExternal(o, live)
		}
	}
}

// pollExternal polls an object outside the stream that may not be watched.
func (r *run) pollExternal(o *externalDependency) {
	if o.ready {
		return
	}
	r.submit(request{op: opGetExternal, step: -1, kind: o.kind, id: o.id})
	r.After(loop.PollEvery, func() { r.pollExternal(o) })
}

// handleExternalRead handles the answer of such a read.
func (r *run) handleExternalRead(answer reply) {
	o := r.externals[answer.id]
	switch {
	case answer.err == nil:
		r.updateExternal(o, answer.live)
	case kubeerr.IsMissing(answer.err):
		r.updateExternal(o, nil)
	case apierrors.IsForbidden(answer.err):
		for _, i := range o.waiters {
			if !r.steps[i].state.Final() {
				r.fail(i, Failed, fmt.Errorf("it needs %s, which is not in this stream and may not be read: %w; grant get, list and watch on it to the account in your kubeconfig", o.id, answer.err))
			}
		}
	}
}

// updateExternal records the state of an object outside the stream, and starts
// the steps that waited for it.
func (r *run) updateExternal(o *externalDependency, live *unstructured.Unstructured) {
	o.live, o.ready, o.reason = live, false, "it does not exist"
	if live != nil {
		if live.GetDeletionTimestamp() != nil {
			o.live, o.reason = nil, "it is being deleted"+kube.DeletionBlockers(live)
		} else {
			r.assessExternal(o)
		}
	}
	waiters := o.waiters
	o.waiters = nil
	if o.wasUnready = o.wasUnready || !o.ready; o.wasUnready {
		r.invalidateReads()
	}
	for _, i := range waiters {
		if o.wasUnready {
			r.requireFreshRead(i)
		}
		r.start(i)
	}
}

func (r *run) assessExternal(o *externalDependency) {
	if o.firstSeen.IsZero() {
		o.firstSeen = time.Now()
	}
	a := r.applier.Health.Assess(o.live)
	if a.NeedsGrace() {
		since := o.firstSeen
		if made := o.live.GetCreationTimestamp().Time; a.Inconclusive && made.Before(since) { // its controller has started on it, before this run
			since = made
		}
		if left := time.Until(since.Add(r.applier.StatusGrace)); a.NoStatus && !o.kind.HasStatus || left <= 0 {
			a = r.applier.Health.AfterGrace(a)
		} else if !o.graceTimerSet {
			o.graceTimerSet = true
			r.After(left, func() { r.updateExternal(o, o.live) })
		}
	}
	o.ready = a.Verdict == health.Ready
	o.reason = a.Reason
}

// kind returns how a kind is served, without a version in the version that
// the API server prefers.
func (r *run) kind(gvk schema.GroupVersionKind) (kube.Kind, bool) {
	return kube.KindsOf(r.applier.Cluster)(gvk)
}
