package apply

import (
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/health"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// A resource may need what something else puts into the cluster
// ("external:" in ordapply.dev/depends-on). It is waited for when all else that
// the resource needs is there, as long as the resource itself or its wave may take.

// outsider is one object outside the stream that steps wait for.
type outsider struct {
	id      object.ID
	kind    Kind
	live    *unstructured.Unstructured // nil when there is none
	seen    time.Time                  // when it was first there
	why     string                     // it has not passed the gate ready
	ready   bool
	graced  bool
	late    bool  // it was not ready when it was first looked at
	waiters []int // steps that start when it passes their gate
}

// passed tells whether the outsider is there, or ready, as the gate asks.
func (o *outsider) passed(gate ordering.Gate) bool {
	return o.ready || gate == ordering.Applied && o.live != nil
}

// awaitOutsiders lets a step wait for what it needs from outside the stream. It
// is false when all of that is there.
func (r *run) awaitOutsiders(i int) bool {
	s := &r.steps[i]
	if r.a.DryRun || len(s.External) == 0 {
		return false
	}
	r.move(i, Applying, "")
	for _, need := range s.External {
		o := r.outsiders[need.ID]
		if o == nil {
			if o = r.lookOutside(i, need); o == nil {
				return true // for its kind, or it failed
			}
		}
		if !o.passed(need.Gate) {
			if !slices.Contains(o.waiters, i) {
				o.waiters = append(o.waiters, i)
			}
			r.move(i, Applying, outsideDetail(o, need))
			return true
		}
	}
	return false
}

// outsideDetail says what a step waits for, and what to do where that is not there.
func outsideDetail(o *outsider, need ordering.Need) string {
	switch missing := o.live == nil; {
	case need.Why.Rule == ordering.RuleLeftOut && missing:
		return fmt.Sprintf("it needs %s, which the selection leaves out: %s (%s); apply it first", o.id, o.why, need.Why.Detail)
	case need.Why.Rule == ordering.RuleLeftOut:
		return fmt.Sprintf("it needs %s, which the selection leaves out: %s", o.id, o.why)
	case need.Why.Rule == ordering.RuleExternal && missing:
		return fmt.Sprintf("it needs %s, which is not of this stream: %s (%s); install it, or correct external", o.id, o.why, need.Why.Detail)
	}
	return fmt.Sprintf("it needs %s, which is not of this stream: %s", o.id, o.why)
}

// lookOutside starts to watch an object outside the stream. It gives nil when
// the step must wait for the kind to be served, or can never go on.
func (r *run) lookOutside(i int, need ordering.Need) *outsider {
	gvk := schema.GroupVersionKind{Group: need.ID.Group, Kind: need.ID.Kind}
	kind, served := r.kind(gvk)
	if !served {
		r.awaitKinds(i, gvk)
		return nil
	}
	switch {
	case kind.Namespaced && need.ID.Namespace == "":
		r.fail(i, Failed, fmt.Errorf("it needs %s, and objects of that kind live in a namespace: write external:%s/namespaces/NAMESPACE/%s/%s", need.ID, need.ID.Group, need.ID.Kind, need.ID.Name))
		return nil
	case !kind.Namespaced && need.ID.Namespace != "":
		r.fail(i, Failed, fmt.Errorf("it needs %s, and objects of that kind live in no namespace: write external:%s/%s/%s", need.ID, need.ID.Group, need.ID.Kind, need.ID.Name))
		return nil
	}
	o := &outsider{id: need.ID, kind: kind, why: "it does not exist"}
	r.outsiders[need.ID] = o
	key := watchKey{resource: kind.Resource, namespace: need.ID.Namespace, name: need.ID.Name}
	r.outside[key] = o
	r.follow(r.a.Cluster, key, kind, r.see)
	return o
}

// seeOutside takes a change of an object outside the stream.
func (r *run) seeOutside(o *outsider, c Change) {
	switch {
	case c.Forbidden != nil:
		r.pollOutside(o)
	case c.Deleted, c.Listed && len(c.Objects) == 0:
		r.judgeOutside(o, nil)
	default:
		for _, live := range c.Objects {
			r.judgeOutside(o, live)
		}
	}
}

// pollOutside reads an outsider that may not be watched, again and again.
func (r *run) pollOutside(o *outsider) {
	if o.ready {
		return
	}
	r.hand(request{op: opLook, step: -1, kind: o.kind, id: o.id})
	r.after(pollEvery, func() { r.pollOutside(o) })
}

// lookedOutside takes the answer of such a look.
func (r *run) lookedOutside(answer reply) {
	o := r.outsiders[answer.id]
	switch {
	case answer.err == nil:
		r.judgeOutside(o, answer.live)
	case missing(answer.err):
		r.judgeOutside(o, nil)
	case apierrors.IsForbidden(answer.err):
		for _, i := range o.waiters {
			if !r.steps[i].state.Final() {
				r.fail(i, Failed, fmt.Errorf("it needs %s, which is not of this stream and may not be read: %w; grant get, list and watch on it to the account in your kubeconfig", o.id, answer.err))
			}
		}
	}
}

// judgeOutside records how an outsider stands, and lets go who waited for that.
func (r *run) judgeOutside(o *outsider, live *unstructured.Unstructured) {
	o.live, o.ready, o.why = live, false, "it does not exist"
	if live != nil {
		if live.GetDeletionTimestamp() != nil {
			o.live, o.why = nil, "it is being deleted"+HeldBy(live)
		} else {
			r.assessOutside(o)
		}
	}
	waiters := o.waiters
	o.waiters = nil
	if o.late = o.late || !o.ready; o.late {
		r.invalidateReads()
	}
	for _, i := range waiters {
		if o.late {
			r.requireFreshRead(i)
		}
		r.start(i)
	}
}

func (r *run) assessOutside(o *outsider) {
	if o.seen.IsZero() {
		o.seen = time.Now()
	}
	a := r.a.Health.Assess(o.live)
	if a.NeedsTime() {
		since := o.seen
		if made := o.live.GetCreationTimestamp().Time; a.Neutral && made.Before(since) { // its controller has begun, and not for this run
			since = made
		}
		if left := time.Until(since.Add(r.a.StatusGrace)); a.NoStatus && !o.kind.HasStatus || left <= 0 {
			a = r.a.Health.AfterGrace(a)
		} else if !o.graced {
			o.graced = true
			r.after(left, func() { r.judgeOutside(o, o.live) })
		}
	}
	o.ready = a.Verdict == health.Ready
	o.why = a.Reason
}

// kind tells how a kind is served; one without a version in the version that
// the API server would prefer.
func (r *run) kind(gvk schema.GroupVersionKind) (Kind, bool) {
	return KindsOf(r.a.Cluster)(gvk)
}
