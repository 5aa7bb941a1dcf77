package fleet

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ordapply/ordapply/internal/plain"
)

// State is the end of the run on a cluster, or the state of a cohort.
type State string

// The states of clusters and cohorts.
const (
	NotStarted  State = "notStarted"
	Done        State = "done"     // of a cluster
	Passed      State = "passed"   // of a cohort
	TimedOut    State = "timedOut" // of a cluster: nothing failed, and something did not become ready in time
	Failed      State = "failed"
	Interrupted State = "interrupted"
)

// Result is the end of the run on a cluster.
type Result struct {
	State State // Done, TimedOut, Failed or Interrupted
	// Unchanged reports that the run wrote nothing: the cluster was as the stream asks
	// before it.
	Unchanged bool
	Err       error // why it is not Done
	revision  int   // of the apply set right after the run, for the gate; 0 if unknown
}

// Observation is the health of a cluster's applied objects, at one moment.
type Observation struct {
	Ready bool
	Why   string    // unready objects, and why
	Since time.Time // when the run that last changed the cluster ended; zero if unknown
	// Revision is the apply set's; 0 if unknown. Another one than the run's means that another
	// run has changed the cluster since.
	Revision int
	Err      error // it could not be observed
}

// Coordinator applies to the clusters of a fleet. One goroutine owns all its state; runs and
// observations have goroutines of their own, and only send their results to it.
type Coordinator struct {
	// Apply runs on a cluster to the end. When ctx is interrupted, it ends as a single
	// run does. Required.
	Apply func(ctx context.Context, c Cluster) Result
	// Observe checks applied objects once. Required for cohorts with a gate; for others, nil
	// means that a pause is waited for in full again when a command is repeated.
	Observe func(ctx context.Context, c Cluster) Observation
	// Events receives the events; always called from one goroutine. Optional.
	Events func(Event)
}

// Event is a transition of a cohort, or of a cluster if Cluster is not empty.
type Event struct {
	Time    time.Time
	Cohort  int // index
	Kind    EventKind
	Cluster string
	Outcome *Outcome  // of ClusterEnded
	Until   time.Time // of GateOpened and PauseBegan: when it ends, if nothing changes
	State   State     // of CohortEnded
	Err     error     // of CohortEnded: why it failed
}

// EventKind names an event.
type EventKind string

// The kinds of events, in the order in which a cohort has them.
const (
	CohortOpened   EventKind = "cohortOpened"
	ClusterStarted EventKind = "clusterStarted"
	ClusterEnded   EventKind = "clusterEnded"
	GateOpened     EventKind = "gateOpened"
	CohortEnded    EventKind = "cohortEnded"
	PauseBegan     EventKind = "pauseBegan"
)

// Summary is the end of a fleet.
type Summary struct {
	Cohorts []CohortOutcome // all, in their order
}

// CohortOutcome is the end of a cohort.
type CohortOutcome struct {
	Name     string
	State    State // NotStarted, Passed, Failed or Interrupted
	Err      error // why it failed
	Clusters []Outcome
}

// GateError reports that a cohort did not stay ready.
type GateError struct {
	Cluster string // the first one that did not, or could not be observed
	Err     error  // why
}

// Error names the cluster.
func (e *GateError) Error() string { return "gate: " + e.Cluster + " " + e.Err.Error() }

// Unwrap returns the cause.
func (e *GateError) Unwrap() error { return e.Err }

// Outcome is the end of a cluster.
type Outcome struct {
	Cluster string
	Result
	Started time.Time // zero if it was not
	Ended   time.Time
	Why     string // why it was not started
}

// Took returns how long the run on a cluster took.
func (o Outcome) Took() time.Duration { return o.Ended.Sub(o.Started) }

// Clusters returns the outcomes of all clusters, in the order of the cohorts.
func (s Summary) Clusters() []Outcome {
	var all []Outcome
	for _, cohort := range s.Cohorts {
		all = append(all, cohort.Clusters...)
	}
	return all
}

// coordination is a Coordinator while it runs.
type coordination struct {
	Coordinator
	summary Summary
}

// Run applies to a fleet, cohort by cohort, and returns when no run is left.
func (c Coordinator) Run(ctx context.Context, f *Fleet) Summary {
	r := &coordination{Coordinator: c, summary: begin(f)}
	for i, cohort := range f.Cohorts {
		if !r.cohort(ctx, i, cohort, i == len(f.Cohorts)-1) {
			r.close(i)
			break
		}
	}
	return r.summary
}

// begin returns the summary of a fleet to which nothing was applied yet.
func begin(f *Fleet) Summary {
	var s Summary
	for _, cohort := range f.Cohorts {
		out := CohortOutcome{Name: cohort.Name, State: NotStarted}
		for _, c := range cohort.Clusters {
			out.Clusters = append(out.Clusters, Outcome{Cluster: c.Name, Result: Result{State: NotStarted}})
		}
		s.Cohorts = append(s.Cohorts, out)
	}
	return s
}

// cohort applies to a cohort, holds its gate and waits for its pause. It reports whether
// the next one may open.
func (r *coordination) cohort(ctx context.Context, i int, cohort Cohort, last bool) bool {
	out := &r.summary.Cohorts[i]
	if ctx.Err() != nil {
		return false
	}
	r.send(Event{Cohort: i, Kind: CohortOpened})
	failures := r.runs(ctx, i, cohort)
	var err error
	switch {
	case failures > cohort.MaxFailures:
		err = failureError(failures, cohort)
	case ctx.Err() == nil:
		err = r.gate(ctx, i, cohort)
	}
	switch {
	case err != nil && !errors.Is(err, context.Canceled):
		out.State, out.Err = Failed, err
	case ctx.Err() != nil:
		out.State = Interrupted
	default:
		out.State = Passed
	}
	r.send(Event{Cohort: i, Kind: CohortEnded, State: out.State, Err: out.Err})
	if out.State != Passed || last {
		return out.State == Passed
	}
	return r.pause(ctx, i, cohort)
}

func failureError(failures int, cohort Cohort) error {
	err := fmt.Errorf("%s failed", plain.Count(failures, "cluster"))
	if cohort.MaxFailures > 0 {
		err = fmt.Errorf("%w, and maxFailures is %d", err, cohort.MaxFailures)
	}
	return err
}

// close sets why clusters were not started, when cohort i was the last one.
func (r *coordination) close(i int) {
	why := "interrupted"
	if r.summary.Cohorts[i].State == Failed {
		why = "cohort " + r.summary.Cohorts[i].Name + " failed"
	}
	for _, cohort := range r.summary.Cohorts {
		for j := range cohort.Clusters {
			if o := &cohort.Clusters[j]; o.State == NotStarted {
				o.Why = why
			}
		}
	}
}
