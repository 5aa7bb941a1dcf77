package apply

import (
	"context"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ordapply/ordapply/health"
	"github.com/ordapply/ordapply/internal/endpoints"
	"github.com/ordapply/ordapply/internal/external"
	"github.com/ordapply/ordapply/internal/kinds"
	"github.com/ordapply/ordapply/internal/loop"
	"github.com/ordapply/ordapply/internal/podwatch"
	"github.com/ordapply/ordapply/internal/readiness"
	"github.com/ordapply/ordapply/internal/snapshot"
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
	graph
	freshness
	outage
	watching
	waiters
}

// counts are what decides whether a run has ended.
type counts struct {
	startedAt       time.Time
	failures        int // steps that failed or timed out
	pendingRequests int // number of steps with a request in flight or due
	unfinished      int // number of steps in no final state
}

// waveState is how far the waves and the layers are.
type waveState struct {
	wave        int // the open wave; -1 before the first
	waveOpen    time.Time
	waves       []waveProgress
	timed       bool                // a layer has a timeout
	layerClocks map[int]*layerClock // of layers with a timeout, by index
}

// graph is what waits for what. Its nodes are steps, then layers.
type graph struct {
	edges      [][]edge // per node, its dependents
	waitCounts []int    // per node, the number of nodes that it still waits for
}

// freshness is how old the reads of the steps' objects may be, see relist.go.
type freshness struct {
	snapshot snapshot.Reader // reads the steps' objects
	epoch    int
	hasActed bool  // something was sent or waited for
	toRelist []int // steps whose objects must be read again
}

// outage is what was reported of an unreachable API server.
type outage struct {
	outageStep         int    // the step for which it was reported; -1: none
	detailBeforeOutage string // the detail of that step before
}

// watching is which watches report the steps' objects.
type watching struct {
	watches      loop.WatchSelector
	stepsByWatch map[loop.WatchKey][]int // the steps that each watch reports
}

// waiters are what steps wait for beside their own status.
type waiters struct {
	externals        *external.Objects
	endpoints        *endpoints.Waiter
	columns          *readiness.Columns
	podWatcher       *podwatch.Watcher
	kindWaiter       *kinds.Waiter
	crdSteps         map[schema.GroupVersion][]int // the CRDs that define kinds of a group-version
	stepsByNamespace map[string][]int              // the steps in each Namespace that is not in the stream
	madeWorkload     bool                          // this run created an object that runs Pods, which may be a controller
}

// step is the state of one step of the plan.
type step struct {
	ordering.Step
	manifest *unstructured.Unstructured // as in the manifest
	kind     kube.Kind
	outcome
	times
	existing
	attempts
	awaited
}

// outcome is the state of a step as it is reported.
type outcome struct {
	state      State
	detail     string
	err        error
	gatePassed bool         // no wave waits for it any longer
	unchanged  bool         // nothing had to be sent
	grade      health.Grade // of the live object as last judged
	assumed    bool         // ready, though nothing in its status says so
}

// times are when a step reached what. They are zero before that.
type times struct {
	startedAt  time.Time // when its dependencies in the stream were met
	sentAt     time.Time // when its PATCH was first handed to a worker; zero when it got no connection
	answeredAt time.Time // when its PATCH succeeded
	doneAt     time.Time
	ownTimeout time.Duration // the timeout of this resource or its kind; 0: none
}

// existing is what is known of the live object before the PATCH.
type existing struct {
	read            snapshot.Object
	membershipError error              // why the object that was read may not be written
	minEpoch        int                // a read from an earlier epoch is outdated
	rereading       bool               // it is being read again
	before          readiness.Identity // the object that was read before the PATCH; zero when none was
	listedBefore    bool               // a list before the run showed whether it existed
	absent          bool               // it did not exist
	member          bool               // it existed, as a member of the set
	adopted         bool               // it existed, and was not a member of the set
	createdUID      types.UID          // of the object that this run is proven to have created, see recordCreated
}

// attempts is how far the PATCH of a step is.
type attempts struct {
	requestPending  bool      // a request is in flight or due
	mayHaveReached  bool      // a PATCH may have reached the API server
	force           bool      // its PATCH may take fields from other managers
	migrationTried  bool      // migrating previous managers' fields was tried
	repairTried     bool      // repair was tried
	immutableFields []string  // immutable fields, because of which it is deleted
	terminating     bool      // the live object is terminating; applied again when it is gone
	retries         int       // number of failed attempts
	firstFailureAt  time.Time // time of the first failed attempt
	retryCause      error     // why its PATCH will be retried
}

// awaited is the object of a step that waits to be ready, and what it waits for.
type awaited struct {
	applied      readiness.Identity         // the object that the PATCH returned
	judged       readiness.Applied          // what its readiness is judged by
	fromRead     bool                       // it is judged by a read, not by the answer to a PATCH
	lastSeen     *unstructured.Unstructured // the live object as last seen
	buffered     *bufferedEvent             // a change reported while the PATCH was in flight
	reason       string                     // what its status says it waits for
	graceTimerAt time.Time                  // when it will be judged again because its status grace ends
	backends     []object.ID                // Services that must have ready endpoints before it is ready
	watch        loop.WatchKey              // the watch that reports it
	unlabelled   bool                       // it does not carry the set's label
}

func newRun(a Applier, plan *ordering.Plan, objects map[object.ID]*unstructured.Unstructured) *run {
	r := &run{
		applier: a, plan: plan,
		steps: make([]step, len(plan.Steps)),
		byID:  plan.Positions(),
		waveState: waveState{
			wave: -1, waves: make([]waveProgress, max(1, len(plan.Waves))), layerClocks: map[int]*layerClock{},
			timed: slices.ContainsFunc(plan.Layers, func(l ordering.Layer) bool { return l.Timeout > 0 }),
		},
		freshness: freshness{snapshot: a.reader(plan, objects)},
		watching:  watching{watches: loop.NewWatchSelector(a.Membership.Set), stepsByWatch: map[loop.WatchKey][]int{}},
		waiters:   waiters{crdSteps: map[schema.GroupVersion][]int{}, stepsByNamespace: map[string][]int{}},
	}
	for i, s := range plan.Steps {
		r.steps[i] = step{Step: s, manifest: objects[s.ID], outcome: outcome{state: Pending}, awaited: awaited{judged: readiness.Applied{Manifest: objects[s.ID]}}}
		r.watches.Count(s.ID)
		for _, kind := range kube.DefinedKinds(r.steps[i].manifest) {
			r.crdSteps[kind.GroupVersion()] = append(r.crdSteps[kind.GroupVersion()], i)
		}
		r.waves[s.Wave].add(i)
		r.waves[s.ReadyBy].gatesPending++
	}
	r.unfinished, r.outageStep = len(r.steps), -1
	r.Connectivity.OnDisconnect, r.Connectivity.OnReconnect = r.reportOutage, r.reportRecovery
	r.kindWaiter, r.podWatcher, r.endpoints = r.newKindWaiter(), r.newPodWatcher(), r.newEndpointWaiter()
	r.externals, r.columns = r.newExternals(), readiness.NewColumns(&r.Loop, a.Cluster, a.Health, r.onColumnsRead)
	r.addStepEdges()
	return r
}

// execute opens one wave after the other and returns when nothing is left to
// do.
func (r *run) execute(ctx context.Context) (Summary, error) {
	r.StartWorkers(ctx, min(r.applier.Workers, max(1, len(r.steps))))
	r.startedAt = time.Now()
	if r.applier.Timeout = loop.RunTimeout(ctx, r.applier.Timeout); r.applier.Timeout > 0 {
		r.After(r.applier.Timeout, func() { r.Stop(loop.ByRunTimeout) })
	}
	for i, read := range r.snapshot.Read(ctx, r.applier.Timeout) {
		r.steps[i].read = read
	}
	r.recordExistence()
	begun := r.startIfAllowed(ctx)
	r.RunLoop(ctx, r.advance)
	for i := range r.steps {
		r.finishOpen(i)
	}
	took := time.Since(r.startedAt)
	r.diagnose(ctx)
	return r.summary(took, begun)
}

// startIfAllowed starts the schedule, unless an error is found before anything is
// written.
func (r *run) startIfAllowed(ctx context.Context) error {
	r.preflight(ctx)
	if r.Finished {
		return nil
	}
	if r.applier.Timeout > 0 && time.Since(r.startedAt) >= r.applier.Timeout || ctx.Err() != nil && loop.EndOf(ctx) == loop.ByRunTimeout {
		r.Stop(loop.ByRunTimeout)
		r.Finished = true
		return nil
	}
	if err := r.applier.Begin(ctx); err != nil {
		r.Finished = true
		return err
	}
	if r.applier.First != nil && !r.applier.DryRun {
		changed, err := r.applier.First(ctx)
		if changed {
			r.requireAllFresh()
		}
		if err != nil {
			r.Finished = true
			return err
		}
	}
	r.checkNamespaces()
	r.beginSchedule()
	r.advance()
	return nil
}
