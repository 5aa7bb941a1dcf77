package apply

import (
	"context"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ordapply/ordapply/health"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// run is the state of one Run.
type run struct {
	loop
	a     Applier
	plan  *ordering.Plan
	steps []step // one per step of the plan
	byID  map[object.ID]int
	begin time.Time

	silent int    // the step of which was told that the API server is silent; -1: none
	before string // what was known of it

	wave     int // the open wave; -1 before the first
	waveOpen time.Time

	waves        []tally
	failures     int                 // steps that failed or timed out
	madeWorkload bool                // this run made an object that runs Pods, and with it perhaps a controller
	asked        int                 // steps with a request that is out, or will be sent again
	epoch        int                 // see relist.go
	active       bool                // something was sent or waited for
	toRead       []int               // steps whose objects must be read again
	timed        bool                // a layer has a timeout
	clocks       map[int]*layerClock // of layers with a timeout, by index
	wires        [][]wire            // per node, who waits for it: steps, then layers
	blockers     []int               // per node, how much it still waits for
	unfinished   int                 // steps in no final state yet

	watches   watches
	watched   map[watchKey][]int // the steps that each watch is for
	outsiders map[object.ID]*outsider
	outside   map[watchKey]*outsider // the same, by the watch that reports them
	backends  map[object.ID]*backend // Services that steps wait for
	lessons   map[string]*lesson     // CustomResourceDefinitions that are read for their printer columns
	workloads map[string]int         // how many of the run make Pods, by namespace
	lookouts  map[watchKey]*lookout  // what troubles workloads that are waited for
	secrets   *values                // of the stream's Secrets; nil until they are needed

	schemas      map[schema.GroupVersionKind]map[string]any // of kinds that the stream defines
	scaled       map[object.ID]bool                         // what an autoscaler of the stream scales
	wanted       map[schema.GroupVersion]*kindWait
	kindsWatched bool                          // what brings kinds is watched, or tried to
	kindsPolled  bool                          // that may not be
	definers     map[schema.GroupVersion][]int // the CRDs that define kinds of it
	tenants      map[string][]int              // the steps in each Namespace that the stream does not make
}

type step struct {
	ordering.Step
	obj         *unstructured.Unstructured // as the author wrote it
	found       *unstructured.Unstructured // what there was before the run; nil when nothing was, or that is not known
	listed      *surveyed                  // the list that said so; nil when that is not known
	known       bool                       // found says whether there was one
	unread      error                      // why that is not known
	refused     error                      // why the object that was read may not be written
	readIn      int                        // the epoch after the one in which it was read; 0: it was not
	freshFrom   int                        // the epoch from which on it must have been read to be judged by that
	reading     bool                       // it is being read again
	fromRead    bool                       // it is judged by what was read of it
	surveyed    bool                       // a list said, before the run, whether it was there
	absent      bool                       // and it was not
	member      bool                       // it was, as a member of the set
	adopted     bool                       // it was, and was no member of the set
	createdUID  types.UID                  // of the object that this run has proven to have created, see noteCreated
	unchanged   bool                       // nothing had to be sent
	grade       health.Grade               // of the live object as last judged
	assumed     bool                       // ready, though nothing in the object says so
	state       State
	detail      string
	err         error
	asked       bool      // a request of its is out or due; it is not answered for good
	passed      bool      // no wave waits for it any longer
	unserved    int       // kinds that it waits for discovery to serve
	watch       watchKey  // that reports it
	stray       bool      // it does not carry the label of the set
	vanishing   bool      // an older object of its ID is being deleted; applied again when that is gone
	repaired    bool      // what blocked its PATCH was looked for
	migrated    bool      // fields of predecessors were taken over, or tried to
	fixed       []string  // fields that cannot be changed, for which it is deleted
	forced      bool      // its PATCH may take fields from others
	graced      time.Time // when it will be judged again, as the grace for its status is over then
	early       *early    // seen while the PATCH was out
	appliedAt   time.Time
	mute        time.Time                  // since when it could have got a status
	last        *unstructured.Unstructured // the live object as last seen
	reason      string                     // what its status says it waits for
	pods        podLook                    // what troubles its Pods
	backends    []object.ID                // Services that must have endpoints before it is ready
	kind        Kind
	live        identity  // of the object that the PATCH returned
	before      identity  // of the object that was read before the PATCH; zero when none was
	isNew       bool      // this run made the object, as far as its age and what was read before say
	specChanged bool      // this run changed the spec of an object that was there before
	answer      any       // the status in the answer to the PATCH, where it may be about the spec before
	begun       time.Time // all that it needs of the stream was there
	sent        time.Time // its PATCH was handed to a worker first; zero again when it got no connection
	answered    time.Time // its PATCH, with success
	done        time.Time
	patience    time.Duration // that its author gave this one resource or its kind; 0: none
	retries     int
	reached     bool      // an attempt at its PATCH may have got to the API server
	troubled    time.Time // of the first failed attempt
	refusal     error     // why its PATCH will be sent again
}

// identity tells events of the object that we applied from those of its past.
type identity struct {
	uid        string
	generation int64
	version    string // resourceVersion; of an object that was read before its PATCH
}

func newRun(a Applier, plan *ordering.Plan, objects map[object.ID]*unstructured.Unstructured) *run {
	r := &run{
		a: a, plan: plan, wave: -1,
		waves:     make([]tally, max(1, len(plan.Waves))),
		steps:     make([]step, len(plan.Steps)),
		byID:      make(map[object.ID]int, len(plan.Steps)),
		watches:   newWatches(a.Membership.Set),
		watched:   map[watchKey][]int{},
		schemas:   streamSchemas(objects),
		scaled:    scaledTargets(objects),
		wanted:    map[schema.GroupVersion]*kindWait{},
		definers:  map[schema.GroupVersion][]int{},
		tenants:   map[string][]int{},
		clocks:    map[int]*layerClock{},
		outsiders: map[object.ID]*outsider{},
		outside:   map[watchKey]*outsider{},
		backends:  map[object.ID]*backend{},
		lessons:   map[string]*lesson{},
		workloads: map[string]int{},
		lookouts:  map[watchKey]*lookout{},
		timed:     slices.ContainsFunc(plan.Layers, func(l ordering.Layer) bool { return l.Timeout > 0 }),
	}
	for i, s := range plan.Steps {
		r.steps[i] = step{Step: s, obj: objects[s.ID], state: Pending}
		r.byID[s.ID] = i
		r.watches.count(s.ID)
		r.a.Health.Learn(r.steps[i].obj)
		if makesPods(s.ID) {
			r.workloads[s.ID.Namespace]++
		}
		for _, kind := range definedKinds(r.steps[i].obj) {
			r.definers[kind.GroupVersion()] = append(r.definers[kind.GroupVersion()], i)
		}
		r.waves[s.Wave].add(i)
		r.waves[s.ReadyBy].unpassed++
	}
	r.unfinished, r.silent = len(r.steps), -1
	r.reach.away, r.reach.back = r.tellSilence, r.tellBack
	r.wireSteps()
	return r
}

// execute opens wave after wave and returns when nothing is left to do.
func (r *run) execute(ctx context.Context) (Summary, error) {
	r.employ(ctx, min(r.a.Workers, max(1, len(r.steps))))
	r.begin = time.Now()
	if r.a.Timeout = runTimeout(ctx, r.a.Timeout); r.a.Timeout > 0 {
		r.after(r.a.Timeout, func() { r.stop(byRunTimeout) })
	}
	r.survey(ctx)
	r.noteAbsent()
	begun := r.mayBegin(ctx)
	r.keep(ctx, r.advance)
	for i := range r.steps {
		r.settle(i)
	}
	took := time.Since(r.begin)
	r.diagnose(ctx)
	return r.summary(took, begun)
}

// mayBegin starts the schedule, unless something is known to be in the way
// before anything is written.
func (r *run) mayBegin(ctx context.Context) error {
	r.refuseForeign(ctx)
	r.refuseMisencoded()
	r.refuseUnknown()
	r.refuseUnfit()
	if r.over {
		return nil
	}
	if r.a.Timeout > 0 && time.Since(r.begin) >= r.a.Timeout || ctx.Err() != nil && endOf(ctx) == byRunTimeout {
		r.stop(byRunTimeout)
		r.over = true
		return nil
	}
	if err := r.a.Begin(ctx); err != nil {
		r.over = true
		return err
	}
	if r.a.First != nil && !r.a.DryRun {
		changed, err := r.a.First(ctx)
		if changed {
			r.requireAllFresh()
		}
		if err != nil {
			r.over = true
			return err
		}
	}
	r.checkNamespaces()
	r.beginSchedule()
	r.advance()
	return nil
}
