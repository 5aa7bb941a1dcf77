package wait

import (
	"context"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/health"
	"github.com/ordapply/ordapply/internal/kube/fault"
	"github.com/ordapply/ordapply/internal/run/loop"
	"github.com/ordapply/ordapply/internal/run/request"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// ExternalRun is the run whose steps wait for objects outside the stream.
type ExternalRun struct {
	// OnChange is called with the steps that waited for an object that has changed, which
	// may start now. wasUnready reports whether it was ever seen not to be ready.
	OnChange    func(steps []int, wasUnready bool)
	OnForbidden func(step int, err error) // the object may not be read
}

// Externals are the objects outside the stream that steps wait for.
type Externals struct {
	run     ExternalRun
	loop    *loop.Loop
	cluster kube.Cluster
	judge   request.Judge
	byID    map[object.ID]*External
}

// NewExternals returns the objects that the steps of a run wait for: none yet.
func NewExternals(l *loop.Loop, cluster kube.Cluster, judge request.Judge, run ExternalRun) *Externals {
	return &Externals{run: run, loop: l, cluster: cluster, judge: judge, byID: map[object.ID]*External{}}
}

// External is an object outside the stream that steps wait for.
type External struct {
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

// missing is the reason of an object that was not found.
const missing = "it does not exist"

// Passed reports whether the object exists, or is ready, as the gate
// requires.
func (o *External) Passed(gate ordering.Gate) bool {
	return o.ready || gate == ordering.Applied && o.live != nil
}

// AddWaiter makes a step wait for a change of the object.
func (o *External) AddWaiter(step int) {
	if !slices.Contains(o.waiters, step) {
		o.waiters = append(o.waiters, step)
	}
}

// Detail describes what a step waits for, with a remedy where that
// does not exist.
func (o *External) Detail(need ordering.Need) string {
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

// Get returns an object that is watched; nil when it is not.
func (s *Externals) Get(id object.ID) *External { return s.byID[id] }

// Watch starts to watch an object; with loop.Loop.OnePass it is read once instead. The error says that the scope of its kind is another
// than the dependency says.
func (s *Externals) Watch(need ordering.Need, kind kube.Kind) (*External, error) {
	id := need.ID
	switch {
	case need.Why.Rule == ordering.RuleMutation && kind.Namespaced && id.Namespace == "":
		return nil, fmt.Errorf("it takes a value of %s, whose kind is namespaced: add its namespace to sourceRef", id)
	case need.Why.Rule == ordering.RuleMutation && !kind.Namespaced:
		id.Namespace = ""
	case kind.Namespaced && id.Namespace == "":
		return nil, fmt.Errorf("it needs %s, whose kind is namespaced: write external:%s/namespaces/NAMESPACE/%s/%s", id, id.Group, id.Kind, id.Name)
	case !kind.Namespaced && id.Namespace != "":
		return nil, fmt.Errorf("it needs %s, whose kind is cluster-scoped: write external:%s/%s/%s", id, id.Group, id.Kind, id.Name)
	}
	o := &External{id: id, kind: kind, reason: missing}
	s.byID[need.ID] = o
	if s.loop.OnePass {
		s.read(o)
		return o, nil
	}
	key := loop.WatchKey{Resource: kind.Resource, Namespace: id.Namespace, Name: id.Name}
	s.loop.StartWatch(s.cluster, key, kind, func(c loop.KeyedWatchEvent) { s.handleChange(o, c.WatchEvent) })
	return o, nil
}

// handleChange handles a change of an object.
func (s *Externals) handleChange(o *External, c kube.WatchEvent) {
	switch {
	case c.Forbidden != nil:
		s.poll(o)
	case c.Deleted, c.Listed && len(c.Objects) == 0:
		s.update(o, nil)
	default:
		for _, live := range c.Objects {
			s.update(o, live)
		}
	}
}

// poll polls an object that may not be watched.
func (s *Externals) poll(o *External) {
	if o.ready {
		return
	}
	s.read(o)
	s.loop.After(loop.PollEvery, func() { s.poll(o) })
}

// read reads an object.
func (s *Externals) read(o *External) {
	read := func(ctx context.Context) (*unstructured.Unstructured, error) {
		return s.cluster.Get(ctx, o.kind, o.id.Namespace, o.id.Name)
	}
	loop.Ask(s.loop, read, func(live *unstructured.Unstructured, err error) { s.handleRead(o, live, err) })
}

// handleRead handles the answer of such a read.
func (s *Externals) handleRead(o *External, live *unstructured.Unstructured, err error) {
	switch {
	case err == nil:
		s.update(o, live)
	case fault.IsMissing(err):
		s.update(o, nil)
	case apierrors.IsForbidden(err):
		for _, i := range o.waiters {
			s.run.OnForbidden(i, fmt.Errorf("it needs %s, which is not in this stream and may not be read: %w; grant get, list and watch on it to the account in your kubeconfig", o.id, err))
		}
	}
}

// update records the state of an object, and resumes the steps that waited for it.
func (s *Externals) update(o *External, live *unstructured.Unstructured) {
	o.live, o.ready, o.reason = live, false, missing
	if live != nil {
		if live.GetDeletionTimestamp() != nil {
			o.live, o.reason = nil, "it is being deleted"+kube.DeletionBlockers(live)
		} else {
			s.assess(o)
		}
	}
	waiters := o.waiters
	o.waiters = nil
	o.wasUnready = o.wasUnready || !o.ready
	s.run.OnChange(waiters, o.wasUnready)
}

func (s *Externals) assess(o *External) {
	if o.firstSeen.IsZero() {
		o.firstSeen = time.Now()
	}
	a := s.judge.Health.Assess(o.live)
	expected := o.kind.HasStatus || s.judge.Health.ExpectsStatus(o.live.GroupVersionKind())
	if a.NeedsGrace() && !a.AwaitsStatus(expected) {
		since := o.firstSeen
		if made := o.live.GetCreationTimestamp().Time; a.Inconclusive && made.Before(since) { // its controller has started on it, before this run
			since = made
		}
		if left := time.Until(since.Add(s.judge.Grace)); a.NoStatus && !expected || left <= 0 {
			a = s.judge.Health.AfterGrace(a)
		} else if !o.graceTimerSet {
			o.graceTimerSet = true
			s.loop.After(left, func() { s.update(o, o.live) })
		}
	}
	o.ready = a.Verdict == health.Ready
	o.reason = a.Reason
}
