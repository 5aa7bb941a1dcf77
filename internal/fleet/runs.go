package fleet

import (
	"context"
	"fmt"
	"time"
)

// end is a result with the place of its cluster in the cohort.
type end struct {
	at int
	Result
}

// runs applies to the clusters of a cohort, and returns how many failed. After more
// failures than the cohort may have no other starts.
func (r *coordination) runs(ctx context.Context, i int, cohort Cohort) (failures int) {
	clusters := r.summary.Cohorts[i].Clusters
	ends := make(chan end)
	next, running := 0, 0
	for {
		for next < len(clusters) && running < cohort.MaxParallel && failures <= cohort.MaxFailures && ctx.Err() == nil {
			at := next
			clusters[at].Started = time.Now()
			r.send(Event{Cohort: i, Kind: ClusterStarted, Cluster: clusters[at].Cluster})
			go func() { ends <- end{at, r.applyTo(ctx, cohort, at)} }()
			next, running = next+1, running+1
		}
		if running == 0 {
			return failures
		}
		e := <-ends
		running--
		o := &clusters[e.at]
		o.Result, o.Ended = e.Result, time.Now()
		if o.State == Failed || o.State == TimedOut {
			failures++
		}
		r.send(Event{Cohort: i, Kind: ClusterEnded, Cluster: o.Cluster, Outcome: o})
	}
}

// applyTo runs on a cluster, and notes the revision for its gate.
func (r *coordination) applyTo(ctx context.Context, cohort Cohort, at int) Result {
	result := r.Apply(ctx, cohort.Clusters[at])
	if cohort.Gate > 0 && result.State == Done {
		result.revision = r.observe(ctx, cohort.Clusters[at]).Revision
	}
	return result
}

// lookTimeout limits one look at a cluster: one whose API server takes connections and does
// not answer could not be observed.
const lookTimeout = time.Minute

// observe observes a cluster once.
func (r *coordination) observe(ctx context.Context, c Cluster) Observation {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	o := r.Observe(ctx, c)
	if o.Err == nil && !o.Ready && ctx.Err() != nil {
		o.Err = fmt.Errorf("no answer within %s", lookTimeout)
	}
	return o
}

// send reports an event.
func (r *coordination) send(e Event) {
	if r.Events != nil {
		e.Time = time.Now()
		r.Events(e)
	}
}

// waitUntil reports whether a time was reached before the context ended.
func waitUntil(ctx context.Context, at time.Time) bool {
	timer := time.NewTimer(time.Until(at))
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}
