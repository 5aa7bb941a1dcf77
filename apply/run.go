package apply

import (
	"cmp"
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/internal/plan/mutation"
	"github.com/ordapply/ordapply/internal/run/loop"
	"github.com/ordapply/ordapply/internal/run/preflight"
	"github.com/ordapply/ordapply/internal/run/request"
	"github.com/ordapply/ordapply/internal/run/wait"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// run is the state of one Run.
type run struct {
	loop.Loop
	applier Applier
	plan    *ordering.Plan
	steps   []step // one per step of the plan
	byID    ordering.Positions
	counts
	waveState
	freshness
	waiters
	hooksWithin
	secretive mutation.Secretive // the resources that take values of Secrets
}

// counts decide whether a run has ended.
type counts struct {
	startedAt       time.Time
	took            time.Duration // until it ended
	failures        int           // steps that failed or timed out
	pendingRequests int           // number of steps with a request in flight or due
	unfinished      int           // number of steps in no final state
	inGrace         int           // number of these that only their status grace keeps waiting
}

// waveState is how far the waves and the layers are.
type waveState struct {
	wave     int // the open wave; -1 before the first
	waveOpen time.Time
	waves    []waveProgress
	clocks   *loop.Clocks
	order    *loop.Graph // of the steps, then the layers
	toStart  loop.Queue  // steps that wait for nothing any more

	still       *wait.Clock // of everything that is waited for
	eventsKnown bool        // earlier events are known, see checkStillness
}

// freshness is how old the reads of the steps' objects may be, see freshness.go.
type freshness struct {
	snapshot request.Reader // reads the steps' objects
	epoch    int
	hasActed bool  // something was sent or waited for
	toRelist []int // steps whose objects must be read again

	namespaces      map[string]*liveNamespace // as they were read with the objects
	allMembersNamed request.Places            // of the set have manifests, when the objects were read first
}

// waiters are the requests and the waits of the steps.
type waiters struct {
	sender       request.Sender
	watches      *loop.Watches
	externals    *wait.Externals
	endpoints    *wait.EndpointWaiter
	columns      *request.Columns
	podWatcher   *wait.PodWatcher
	kindWaiter   *wait.KindWaiter
	crdSteps     map[schema.GroupVersion][]int // the CRDs that define kinds of a group-version
	madeWorkload bool                          // this run created an object that runs Pods, which may be a controller
}

func newRun(a Applier, plan *ordering.Plan, objects map[object.ID]*unstructured.Unstructured) *run {
	r := &run{
		applier: a, plan: plan,
		steps: make([]step, len(plan.Steps)),
		byID:  plan.Positions(),
		waveState: waveState{
			wave: -1, waves: make([]waveProgress, max(1, len(plan.Waves))), order: loop.NewGraph(len(plan.Steps) + len(plan.Layers)),
		},
		freshness: freshness{snapshot: a.reader(plan, objects)},
		waiters:   waiters{crdSteps: map[schema.GroupVersion][]int{}},
	}
	r.OnePass = a.OnePass
	r.wire()
	for i := range plan.Steps {
		s, manifest := &plan.Steps[i], objects[plan.Steps[i].ID]
		state := &r.steps[i]
		state.Step, state.manifest, state.state, state.judged.Manifest = s, manifest, event.Pending, manifest
		r.watches.Count(i, s.ID)
		for _, kind := range kube.DefinedKinds(manifest) {
			r.crdSteps[kind.GroupVersion()] = append(r.crdSteps[kind.GroupVersion()], i)
		}
		r.waves[s.Wave].add(i)
		r.waves[s.ReadyBy].gatesPending++
	}
	r.unfinished, r.podWatcher = len(r.steps), r.newPodWatcher()
	r.addStepEdges()
	r.readTemplates()
	return r
}

// wire connects the run to its requests and waits.
func (r *run) wire() {
	a := r.applier
	r.sender = a.sender(r.snapshot.Manifests...)
	r.watches = loop.NewWatches(&r.Loop, a.Cluster, a.Membership.Set, loop.WatchRun{
		ID:        func(i int) object.ID { return r.steps[i].target() },
		Kind:      func(i int) (kube.Kind, bool) { s := &r.steps[i]; return s.kind, s.unlabelled },
		IsAwaited: func(i int) bool { return r.steps[i].isAwaited() },
		UID:       func(i int) string { return r.steps[i].applied.UID },
		OnChange:  r.handleChange,
		Read:      func(i int) { r.send(request.Get, i) },
	})
	r.Outages = loop.Outages{First: r.firstAwaited, Detail: r.awaitedDetail, Report: r.reportDetail}
	r.clocks = loop.NewClocks(&r.Loop, r.plan, r.onLayerTimeout)
	r.kindWaiter, r.endpoints = r.newKindWaiter(), r.newEndpointWaiter()
	r.externals, r.columns = r.newExternals(), request.NewColumns(&r.Loop, a.Cluster, a.Health, r.onColumnsRead)
}

// preflight fails the steps that are known to fail, which ends the run before anything is
// written.
func (r *run) preflight(ctx context.Context) {
	checks := preflight.Checks{Cluster: kube.NewReadOnly(r.applier.Cluster), Reader: r.snapshot, Plan: r.plan, Schemas: r.applier.Schemas, KindTimeout: r.applier.KindTimeout, DryRun: r.applier.DryRun, Restores: r.applier.Restores, Sender: r.sender, MayRecreate: r.applier.mayRecreate}
	for i := range r.steps {
		checks.Reads = append(checks.Reads, r.steps[i].read)
	}
	checks.Each(ctx, func(i int) bool { return r.steps[i].state.Final() }, func(i int, err error) {
		r.fail(i, event.Failed, err)
		r.Finished = !r.applier.KeepGoing
	})
}

// close ends the steps that the run left open.
func (r *run) close() {
	for i := range r.steps {
		r.finishOpen(i)
	}
	r.took = time.Since(r.startedAt)
}

// summary returns the outcome of every step, and joins the errors.
func (r *run) summary() (event.Summary, error) {
	s := event.Summary{Took: r.took, Results: make([]event.Result, 0, len(r.steps))}
	for i := range r.steps {
		st := &r.steps[i]
		var owners event.FieldOwners
		if st.managers != nil {
			owners = st.managers.owners
		}
		s.Results = append(s.Results, event.Result{
			ID: st.target(), Layer: st.Layer, Wave: st.Wave, State: st.state, Waiting: st.reason, Detail: st.detail, Err: st.err,
			Unchanged: st.unchanged, Assumed: st.assumed, Unready: st.leftUnready, FailedAttempts: st.Failed, Recreated: st.recreated,
			Origin: r.originOf(i), FieldOwners: owners,
			Times: event.Times{Sent: st.sentAt, Applied: st.answeredAt, Done: st.doneAt},
		})
	}
	for wave := range r.plan.Waves {
		s.Waves = append(s.Waves, r.waves[wave].took)
	}
	err := r.Join(&s, r.applier.Timeout)
	r.collectHooks()
	s.Hooks = r.hookResults
	return s, errors.Join(r.hookErr, err)
}

// finishOpen ends one step that the run left open. A PATCH that the API server
// may still carry out does not count as "not started".
func (r *run) finishOpen(i int) {
	s := &r.steps[i]
	sent := s.state == event.Applying && s.patch != loop.NotSent
	held := s.state == event.Applying && s.reason != event.WaitNone
	switch {
	case s.state.Final():
	case r.EndedBy == loop.ByRunTimeout && (s.state == event.Waiting || sent || held):
		r.failTimeout(i, r.applier.Timeout, "run")
	case s.state == event.Waiting && s.gatePassed:
		r.leave(i, event.Applied, s.reason, s.detail)
	case s.state == event.Waiting:
		r.leave(i, event.Unsettled, s.reason, s.detail)
	case sent:
		r.leave(i, event.Unsettled, s.reason, r.notAppliedReason(i))
	case held && r.OnePass:
		r.leave(i, event.NotStarted, s.reason, s.detail)
	default:
		r.leave(i, event.NotStarted, cmp.Or(s.reason, event.WaitOrder), "")
	}
}
