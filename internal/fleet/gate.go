package fleet

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ordapply/ordapply/internal/activity"
)

// A gate is looked at some ten times, at most every minInterval and at least every
// maxInterval, and once more at its end.
const (
	minInterval = 2 * time.Second
	maxInterval = 30 * time.Second
)

// looks is the number of clusters observed at the same time, so that the memory for it does
// not grow with the fleet.
const looks = 16

// tolerated is how often in a row a cluster may not be observable, as when its API server
// restarts, before that fails a gate.
const tolerated = 3

// watched is a cluster in a gate.
type watched struct {
	Cluster
	revision int // that has to stay ready; 0 if unknown
	blind    int // observations in a row that failed
}

// errNoneLeft fails a gate that has nothing to look at.
var errNoneLeft = errors.New("gate: all of its clusters failed, so that none can stay ready")

// gate waits until all clusters of a cohort that did not fail have stayed ready for its
// gate, under observation: a gate that an earlier command was watching begins anew.
func (r *coordination) gate(ctx context.Context, i int, cohort Cohort) error {
	all := r.gated(i, cohort)
	switch {
	case cohort.Gate == 0:
		return nil
	case len(all) == 0:
		return errNoneLeft
	}
	until := time.Now().Add(cohort.Gate)
	r.send(Event{Cohort: i, Kind: GateOpened, Until: until})
	for {
		blind, err := r.look(ctx, all)
		switch {
		case ctx.Err() != nil:
			return context.Canceled
		case err != nil:
			return err
		case !blind && !time.Now().Before(until):
			return nil
		}
		if !waitUntil(ctx, nextLook(time.Now(), until, cohort.Gate)) {
			return context.Canceled
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
			all = append(all, &watched{Cluster: cohort.Clusters[j], revision: o.revision})
		}
	}
	return all
}

// look observes all clusters once. blind reports that some could not be observed; the
// error names one that is not ready.
func (r *coordination) look(ctx context.Context, all []*watched) (blind bool, err error) {
	seen := make([]Observation, len(all))
	activity.Each(len(all), looks, func(at int) { seen[at] = r.observe(ctx, all[at].Cluster) })
	for at, w := range all {
		switch o := seen[at]; {
		case o.Err != nil:
			blind = true
			if w.blind++; w.blind >= tolerated {
				return blind, &GateError{w.Name, fmt.Errorf("cannot be observed: %w", o.Err)}
			}
		case w.revision != 0 && o.Revision != 0 && o.Revision != w.revision:
			return blind, &GateError{w.Name, fmt.Errorf("did not keep revision %d of the apply set: another run has begun revision %d since", w.revision, o.Revision)}
		case !o.Ready:
			return blind, &GateError{w.Name, fmt.Errorf("did not stay ready: %s", o.Why)}
		default:
			w.blind = 0
		}
	}
	return blind, nil
}
