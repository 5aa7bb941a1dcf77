package fleet

import (
	"context"
	"time"

	"github.com/ordapply/ordapply/internal/activity"
)

// pause waits for the pause after a cohort, and reports whether the next one may open.
func (r *coordination) pause(ctx context.Context, i int, cohort Cohort) bool {
	until := r.pauseFrom(ctx, i, cohort).Add(cohort.Pause)
	if !time.Now().Before(until) {
		return ctx.Err() == nil
	}
	r.send(Event{Cohort: i, Kind: PauseBegan, Until: until})
	return waitUntil(ctx, until)
}

// pauseFrom returns the start of the pause after a cohort: now, or, if a repeated command
// found nothing to change on any of its clusters and watched no gate, the last deployment
// to them.
func (r *coordination) pauseFrom(ctx context.Context, i int, cohort Cohort) time.Time {
	now := time.Now()
	clusters := r.summary.Cohorts[i].Clusters
	if cohort.Pause == 0 || cohort.Gate > 0 || r.Observe == nil {
		return now
	}
	for _, o := range clusters {
		if !o.Unchanged {
			return now
		}
	}
	seen := make([]Observation, len(clusters))
	activity.Each(len(clusters), looks, func(at int) { seen[at] = r.observe(ctx, cohort.Clusters[at]) })
	var last time.Time
	for _, o := range seen {
		switch {
		case o.Since.IsZero() || o.Since.After(now):
			return now
		case o.Since.After(last):
			last = o.Since
		}
	}
	return last
}
