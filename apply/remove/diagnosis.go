package remove

import (
	"context"
	"errors"

	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/internal/live/diagnose"
	"github.com/ordapply/ordapply/internal/run/loop"
	"github.com/ordapply/ordapply/object"
)

// diagnose asks the cluster what blocks the deletions that timed out. It runs
// after the run, never fails it, and ends at once when ctx is canceled.
func (r *removal) diagnose(ctx context.Context) {
	ctx, cancel := loop.Explaining(ctx, diagnose.Timeout)
	defer cancel()
	if ctx.Err() != nil || r.NoDiagnosis {
		return
	}
	turns := diagnose.NewTurns()
	for i := range r.steps {
		s := &r.steps[i]
		failure := &event.Error{}
		if !s.request.accepted() || !errors.As(s.err, &failure) || !turns.Left() {
			continue
		}
		turns.Go(ctx, func(ctx context.Context) {
			h := diagnose.Deletion{Cluster: r.Cluster, Kind: s.kind, Live: s.live}
			d := &event.Diagnosis{Of: s.ID, Findings: h.Diagnose(ctx), Blocks: r.unstarted(), Waves: r.unopenedWaves()}
			if len(d.Findings) > 0 {
				d.Cause = d.Text(d.Findings[0])
			}
			failure.Diagnosis = d
		})
	}
	turns.Wait()
}

// unstarted returns the resources that were not started.
func (r *removal) unstarted() []object.ID {
	var ids []object.ID
	for i := range r.steps {
		if s := &r.steps[i]; s.state == event.NotStarted || s.state == event.Skipped {
			ids = append(ids, s.ID)
		}
	}
	return ids
}

// unopenedWaves returns the titles of the waves that did not open.
func (r *removal) unopenedWaves() []string {
	var titles []string
	for wave := r.wave + 1; wave < len(r.waves); wave++ {
		titles = append(titles, r.plan.WaveTitle(r.first+wave))
	}
	return titles
}
