package fleet

import (
	"context"
	"fmt"
	"time"
)

// A gate is looked at some ten times, at most every minInterval and at least every
// maxInterval, and once more at its end.
const (
	minInterval = 2 * time.Second
	maxInterval = 30 * time.Second
)

// looks is how many clusters are observed at the same time, so that the memory for it does
// not grow with the fleet.
const looks = 16

// lookTimeout limits one look at a cluster: one whose API server takes connections and does
// not answer could not be observed.
const lookTimeout = time.Minute

// tolerated is how often in a row a cluster may not be observable, as when its API server
// restarts, before that fails a gate.
const tolerated = 3

// watched is a cluster in a gate.
type watched struct {
	Cluster
	since     time.Time // ready at least since then
	unchanged bool      // since is known by the first observation
	blind     int       // observations in a row that failed
}

// gate waits until all clusters of a cohort that did not fail have stayed ready for its
// gate, and returns when that was: in the past if a run that was repeated found all as it
// was. A pause without a gate needs that time, too.
func (r *coordination) gate(ctx context.Context, i int, cohort Cohort) (passed time.Time, err error) {
	all := r.gated(i, cohort)
	counted := cohort.Pause > 0 && r.Observe != nil && allUnchanged(all) // from a time of the history
	if len(all) == 0 || cohort.Gate == 0 && !counted {
		return time.Now(), nil
	}
	for first := true; ; first = false {
		blind, err := r.look(ctx, all, cohort.Gate > 0)
		until := opened(all).Add(cohort.Gate)
		switch {
		case ctx.Err() != nil:
			return until, context.Canceled
		case err != nil:
			return until, err
		case cohort.Gate == 0, !blind && !time.Now().Before(until):
			return until, nil
		case first:
			r.send(Event{Cohort: i, Kind: GateOpened, Until: until})
		}
		if !waitUntil(ctx, nextLook(time.Now(), until, cohort.Gate)) {
			return until, context.Canceled
		}
	}
}

// nextLook returns when a gate is looked at after now.
func nextLook(now, until time.Time, gate time.Duration) time.Time {
	next := now.Add(min(max(gate/10, minInterval), maxInterval))
	if until.After(now) && until.Before(next) {
		return until
	}
	return next
}

// gated returns the clusters of a cohort that did not fail.
func (r *coordination) gated(i int, cohort Cohort) []*watched {
	var all []*watched
	for j, o := range r.summary.Cohorts[i].Clusters {
		if o.State == Done {
			all = append(all, &watched{Cluster: cohort.Clusters[j], since: o.Ended, unchanged: o.Unchanged})
		}
	}
	return all
}

func allUnchanged(all []*watched) bool {
	for _, w := range all {
		if !w.unchanged {
			return false
		}
	}
	return true
}

// opened returns since when all clusters have been ready.
func opened(all []*watched) time.Time {
	var last time.Time
	for _, w := range all {
		if w.since.After(last) {
			last = w.since
		}
	}
	return last
}

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

// look observes all clusters once. blind reports that some could not be observed; the
// error names one that is not ready.
func (r *coordination) look(ctx context.Context, all []*watched, mustBeReady bool) (blind bool, err error) {
	seen := make([]Observation, len(all))
	places, done := make(chan int), make(chan struct{})
	for range min(looks, len(all)) {
		go func() {
			for at := range places {
				seen[at] = r.observe(ctx, all[at].Cluster)
			}
			done <- struct{}{}
		}()
	}
	for at := range all {
		places <- at
	}
	close(places)
	for range min(looks, len(all)) {
		<-done
	}
	for at, w := range all {
		switch o := seen[at]; {
		case o.Err != nil:
			blind = true
			if w.blind++; w.blind >= tolerated && mustBeReady {
				return blind, &GateError{w.Name, fmt.Errorf("cannot be observed: %w", o.Err)}
			}
		case !o.Ready && mustBeReady:
			return blind, &GateError{w.Name, fmt.Errorf("did not stay ready: %s", o.Why)}
		default:
			w.blind = 0
			if w.unchanged && !o.Since.IsZero() && o.Since.Before(w.since) {
				w.since = o.Since
			}
		}
	}
	return blind, nil
}
