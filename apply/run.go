package apply

import (
	"context"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// grace is how long requests in flight may take to finish once the run has
// been told to stop.
const grace = 10 * time.Second

// run is the state of one Run. Only the goroutine of loop touches it.
type run struct {
	a     Applier
	plan  *ordering.Plan
	steps []step // one per step of the plan
	byID  map[object.ID]int
	begin time.Time

	wave     int // the open wave; -1 before the first
	waveOpen time.Time
	over     bool // every step is in a final state, or will be at the end
	stopping bool // no further request goes out
	ended    endCause

	waves      []tally
	failures   int                 // steps that failed or timed out
	asked      int                 // steps with a request that is out, or will be sent again
	timed      bool                // a layer has a timeout
	clocks     map[int]*layerClock // of layers with a timeout, by index
	wires      [][]wire            // per node, who waits for it: steps, then layers
	blockers   []int               // per node, how much it still waits for
	unfinished int                 // steps in no final state yet
	queue      []request           // wait for a worker
	inFlight   int
	watched    map[watchKey][]int                         // the steps that each watch is for
	forbidden  map[watchKey]bool                          // watches that may not be
	schemas    map[schema.GroupVersionKind]map[string]any // of kinds that the stream defines
	scaled     map[object.ID]bool                         // what an autoscaler of the stream scales
	wanted     map[schema.GroupVersion]*kindWait
	definers   map[schema.GroupVersion][]int // the CRDs that define kinds of it
	tenants    map[string][]int              // the steps in each Namespace that the stream does not make
	crowd      map[place]int                 // how many steps are of one kind in one namespace
	outsiders  map[object.ID]*outsider
	outside    map[watchKey]*outsider // the same, by the watch that reports them

	ctx     func() context.Context // for requests and watches; outlives an interrupt by the grace
	replies chan reply
	sights  chan sight
	alarms  chan func()
}

// endCause is what ended a run before its plan did.
type endCause int

const (
	notEnded endCause = iota
	byFailure
	byRunTimeout
	byInterrupt
)

type step struct {
	ordering.Step
	obj       *unstructured.Unstructured // as the author wrote it
	found     *unstructured.Unstructured // what there was before the run; nil when nothing was, or nobody knows
	listed    *surveyed                  // the list that said so; nil when nobody knows
	unchanged bool                       // nothing had to be sent
	state     State
	detail    string
	err       error
	asked     bool   // a request of its is out or due; it is not answered for good
	passed    bool   // nobody's wave waits for it any longer
	unserved  int    // kinds that it waits for discovery to serve
	watched   bool   // a watch reports it
	vanishing bool   // an older object of its ID is being deleted; applied again when that is gone
	migrated  bool   // fields of predecessors were taken over, or tried to
	forced    bool   // its PATCH may take fields from others
	graced    bool   // it will be judged again when the grace for its status is over
	early     *early // seen while the PATCH was out
	appliedAt time.Time
	last      *unstructured.Unstructured // the live object as last seen
	backends  []object.ID                // Services that must have endpoints before it is ready
	asking    bool                       // about the first of them
	kind      Kind
	live      identity  // of the object that the PATCH returned
	begun     time.Time // all that it needs of the stream was there
	sent      time.Time // its PATCH was handed to a worker first
	answered  time.Time // its PATCH, with success
	done      time.Time
	patience  time.Duration // that its author gave this one resource or its kind; 0: none
	retries   int
	troubled  time.Time // of the first failed attempt
	refusal   error     // why its PATCH will be sent again
}

// identity tells events of the object that we applied from those of its past.
type identity struct {
	uid        string
	generation int64
}

// watchKey is what one watch reports: a kind's objects in a namespace, or the
// one with a name.
type watchKey struct {
	resource  schema.GroupVersionResource
	namespace string
	name      string // "" for all
}

// place is where objects of one kind stand side by side.
type place struct {
	group, kind, namespace string
}

func placeOf(id object.ID) place { return place{id.Group, id.Kind, id.Namespace} }

func newRun(a Applier, plan *ordering.Plan, objects map[object.ID]*unstructured.Unstructured) *run {
	r := &run{
		a: a, plan: plan, wave: -1,
		waves:     make([]tally, max(1, len(plan.Waves))),
		steps:     make([]step, len(plan.Steps)),
		byID:      make(map[object.ID]int, len(plan.Steps)),
		watched:   map[watchKey][]int{},
		forbidden: map[watchKey]bool{},
		schemas:   streamSchemas(objects),
		scaled:    scaledTargets(objects),
		wanted:    map[schema.GroupVersion]*kindWait{},
		definers:  map[schema.GroupVersion][]int{},
		tenants:   map[string][]int{},
		crowd:     map[place]int{},
		clocks:    map[int]*layerClock{},
		outsiders: map[object.ID]*outsider{},
		outside:   map[watchKey]*outsider{},
		timed:     slices.ContainsFunc(plan.Layers, func(l ordering.Layer) bool { return l.Timeout > 0 }),
		replies:   make(chan reply),
		sights:    make(chan sight),
		alarms:    make(chan func()),
	}
	for i, s := range plan.Steps {
		r.steps[i] = step{Step: s, obj: objects[s.ID], state: Pending}
		r.byID[s.ID] = i
		r.crowd[placeOf(s.ID)]++
		for _, kind := range definedKinds(r.steps[i].obj) {
			r.definers[kind.GroupVersion()] = append(r.definers[kind.GroupVersion()], i)
		}
		r.waves[s.Wave].add(i)
		r.waves[s.ReadyBy].unpassed++
	}
	r.unfinished = len(r.steps)
	r.wireSteps()
	return r
}

// loop opens wave after wave and returns when nothing is left to do.
func (r *run) loop(ctx context.Context) (Summary, error) {
	work, cancel := context.WithCancel(context.WithoutCancel(ctx))
	r.ctx = func() context.Context { return work }
	r.begin = time.Now()
	requests := make(chan request)
	var workers sync.WaitGroup
	for range min(r.a.Workers, max(1, len(r.steps))) {
		workers.Go(func() { r.a.serve(work, requests, r.replies) })
	}
	if r.a.Timeout > 0 {
		r.after(r.a.Timeout, func() { r.stop(byRunTimeout) })
	}
	r.survey(ctx)
	begun := r.mayBegin(ctx)
	interrupted := ctx.Done()
	for !r.over {
		out, head := r.next(requests)
		select {
		case out <- head:
			r.queue = r.queue[1:]
			r.inFlight++
			r.handedOut(head)
		case reply := <-r.replies:
			r.inFlight--
			r.take(reply)
		case sight := <-r.sights:
			r.see(sight)
		case fire := <-r.alarms:
			fire()
		case <-interrupted:
			interrupted = nil
			r.stop(byInterrupt)
		}
		r.advance()
	}
	cancel()
	close(requests)
	workers.Wait()
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
	if r.refuseForeign(); r.over {
		return nil
	}
	if r.a.Timeout > 0 && time.Since(r.begin) >= r.a.Timeout {
		r.stop(byRunTimeout)
		r.over = true
		return nil
	}
	if err := r.a.Begin(ctx); err != nil {
		r.over = true
		return err
	}
	r.checkNamespaces()
	r.beginSchedule()
	r.advance()
	return nil
}

// next is the request to hand to a worker; a nil channel when there is none.
func (r *run) next(requests chan<- request) (chan<- request, request) {
	if len(r.queue) == 0 || r.stopping {
		return nil, request{}
	}
	return requests, r.queue[0]
}

// after lets the loop do something when d has passed.
func (r *run) after(d time.Duration, fire func()) {
	done := r.ctx().Done()
	time.AfterFunc(d, func() {
		select {
		case r.alarms <- fire:
		case <-done:
		}
	})
}

// stop lets requests in flight finish and sends no more.
func (r *run) stop(cause endCause) {
	if r.stopping {
		return
	}
	r.stopping, r.ended = true, cause
	r.after(grace, func() { r.over = true })
}
