package apply

import (
	"context"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ordapply/ordapply/health"
	"github.com/ordapply/ordapply/internal/diagnose"
	"github.com/ordapply/ordapply/internal/loop"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// run is the state of one Run.
type run struct {
	loop.Loop
	applier   Applier
	plan      *ordering.Plan
	steps     []step // one per step of the plan
	byID      map[object.ID]int
	startedAt time.Time

	outageStep         int    // the step for which an unreachable API server was reported; -1: none
	detailBeforeOutage string // the detail of that step before

	wave     int // the open wave; -1 before the first
	waveOpen time.Time

	waves           []waveProgress
	failures        int                 // steps that failed or timed out
	madeWorkload    bool                // this run created an object that runs Pods, which may be a controller
	pendingRequests int                 // number of steps with a request in flight or due
	epoch           int                 // see relist.go
	hasActed        bool                // something was sent or waited for
	toRelist        []int               // steps whose objects must be read again
	timed           bool                // a layer has a timeout
	layerClocks     map[int]*layerClock // of layers with a timeout, by index
	edges           [][]edge            // per node, its dependents; nodes are steps, then layers
	waitCounts      []int               // per node, the number of nodes that it still waits for
	unfinished      int                 // number of steps in no final state

	watches          loop.WatchSelector
	stepsByWatch     map[loop.WatchKey][]int // the steps that each watch reports
	externals        map[object.ID]*externalDependency
	externalsByWatch map[loop.WatchKey]*externalDependency // the same, by the watch that reports them
	backends         map[object.ID]*backend                // Services that steps wait for
	columnReads      map[string]*columnRead                // CustomResourceDefinitions that are read for their printer columns
	workloadCounts   map[string]int                        // number of steps that create Pods, by namespace
	podWatches       map[loop.WatchKey]*podWatch           // watches of Pods and events of waiting workloads
	secrets          *diagnose.HiddenValues                // of the stream's Secrets; nil until needed

	schemas          map[schema.GroupVersionKind]map[string]any // of the kinds that the stream defines
	autoscaled       map[object.ID]bool                         // targets of the stream's autoscalers
	kindWaits        map[schema.GroupVersion]*kindWait
	kindsWatched     bool                          // the watch for new kinds was started
	kindsPolled      bool                          // new kinds are polled: they may not be watched
	crdSteps         map[schema.GroupVersion][]int // the CRDs that define kinds of a group-version
	stepsByNamespace map[string][]int              // the steps in each Namespace that is not in the stream
}

type step struct {
	ordering.Step
	manifest        *unstructured.Unstructured // as in the manifest
	listedObject    *unstructured.Unstructured // the live object before the run; nil when it did not exist or is not known
	list            *snapshotList              // the list that contained it; nil when it was not read
	existenceKnown  bool                       // it is known whether it existed
	readError       error                      // why it could not be read
	membershipError error                      // why the object that was read may not be written
	readEpoch       int                        // the epoch of the read plus 1; 0: not read
	minEpoch        int                        // a read from an earlier epoch is outdated
	rereading       bool                       // it is being read again
	fromRead        bool                       // it is judged by a read, not by the answer to a PATCH
	listedBefore    bool                       // a list before the run showed whether it existed
	absent          bool                       // it did not exist
	member          bool                       // it existed, as a member of the set
	adopted         bool                       // it existed, and was not a member of the set
	createdUID      types.UID                  // of the object that this run is proven to have created, see recordCreated
	unchanged       bool                       // nothing had to be sent
	grade           health.Grade               // of the live object as last judged
	assumed         bool                       // ready, though nothing in its status says so
	state           State
	detail          string
	err             error
	requestPending  bool           // a request is in flight or due
	gatePassed      bool           // no wave waits for it any longer
	missingKinds    int            // number of kinds that it waits for discovery to serve
	watch           loop.WatchKey  // the watch that reports it
	unlabelled      bool           // it does not carry the set's label
	terminating     bool           // the live object is terminating; applied again when it is gone
	repairTried     bool           // repair was tried
	migrationTried  bool           // migrating previous managers' fields was tried
	immutableFields []string       // immutable fields, because of which it is deleted
	force           bool           // its PATCH may take fields from other managers
	graceTimerAt    time.Time      // when it will be judged again because its status grace ends
	buffered        *bufferedEvent // a change reported while the PATCH was in flight
	appliedAt       time.Time
	statusGraceFrom time.Time                  // since when it could have had a status
	lastSeen        *unstructured.Unstructured // the live object as last seen
	reason          string                     // what its status says it waits for
	podCheck        podCheck                   // the problems of its Pods
	backends        []object.ID                // Services that must have ready endpoints before it is ready
	kind            kube.Kind
	applied         identity  // the object that the PATCH returned
	before          identity  // the object that was read before the PATCH; zero when none was
	isNew           bool      // this run created the object, judging by its age and earlier reads
	specChanged     bool      // this run changed the spec of an existing object
	patchStatus     any       // the status in the answer to the PATCH, which may describe the spec before
	startedAt       time.Time // when its dependencies in the stream were met
	sentAt          time.Time // when its PATCH was first handed to a worker; zero when it got no connection
	answeredAt      time.Time // when its PATCH succeeded
	doneAt          time.Time
	ownTimeout      time.Duration // the timeout of this resource or its kind; 0: none
	retries         int
	mayHaveReached  bool      // a PATCH may have reached the API server
	firstFailureAt  time.Time // time of the first failed attempt
	retryCause      error     // why its PATCH will be retried
}

// identity identifies the applied object, so that events of earlier states or
// objects can be ignored.
type identity struct {
	uid        string
	generation int64
	version    string // resourceVersion; set for an object that was read before its PATCH
}

func newRun(a Applier, plan *ordering.Plan, objects map[object.ID]*unstructured.Unstructured) *run {
	r := &run{
		applier: a, plan: plan, wave: -1,
		waves:            make([]waveProgress, max(1, len(plan.Waves))),
		steps:            make([]step, len(plan.Steps)),
		byID:             make(map[object.ID]int, len(plan.Steps)),
		watches:          loop.NewWatchSelector(a.Membership.Set),
		stepsByWatch:     map[loop.WatchKey][]int{},
		schemas:          streamSchemas(objects),
		autoscaled:       scaledTargets(objects),
		kindWaits:        map[schema.GroupVersion]*kindWait{},
		crdSteps:         map[schema.GroupVersion][]int{},
		stepsByNamespace: map[string][]int{},
		layerClocks:      map[int]*layerClock{},
		externals:        map[object.ID]*externalDependency{},
		externalsByWatch: map[loop.WatchKey]*externalDependency{},
		backends:         map[object.ID]*backend{},
		columnReads:      map[string]*columnRead{},
		workloadCounts:   map[string]int{},
		podWatches:       map[loop.WatchKey]*podWatch{},
		timed:            slices.ContainsFunc(plan.Layers, func(l ordering.Layer) bool { return l.Timeout > 0 }),
	}
	for i, s := range plan.Steps {
		r.steps[i] = step{Step: s, manifest: objects[s.ID], state: Pending}
		r.byID[s.ID] = i
		r.watches.Count(s.ID)
		r.applier.Health.Learn(r.steps[i].manifest)
		if s.ID.MakesPods() {
			r.workloadCounts[s.ID.Namespace]++
		}
		for _, kind := range kube.DefinedKinds(r.steps[i].manifest) {
			r.crdSteps[kind.GroupVersion()] = append(r.crdSteps[kind.GroupVersion()], i)
		}
		r.waves[s.Wave].add(i)
		r.waves[s.ReadyBy].gatesPending++
	}
	r.unfinished, r.outageStep = len(r.steps), -1
	r.Connectivity.OnDisconnect, r.Connectivity.OnReconnect = r.reportOutage, r.reportRecovery
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
	r.readSnapshot(ctx)
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
	r.failForeignMembers(ctx)
	r.failInvalidBase64()
	r.failUnknownKinds()
	r.failInvalidCustomResources()
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
