package apply

import (
	"context"
	"errors"
	"sync"

	"github.com/ordapply/ordapply/object"
)

// diagnose asks the cluster who should let go of what was not gone in time. It
// is made after the run, never fails it, and ends at once when ctx does.
func (r *removal) diagnose(ctx context.Context) {
	ctx, cancel := explaining(ctx)
	defer cancel()
	if ctx.Err() != nil || r.NoDiagnosis {
		return
	}
	var asking sync.WaitGroup
	turns := make(chan struct{}, diagnosedAtOnce)
	left := diagnosed
	for i := range r.steps {
		s := &r.steps[i]
		failure := &Error{}
		if !s.accepted || !errors.As(s.err, &failure) || left == 0 {
			continue
		}
		left--
		asking.Go(func() {
			turns <- struct{}{}
			defer func() { <-turns }()
			ctx, cancel := context.WithTimeout(ctx, diagnosisTimeout)
			defer cancel()
			h := holders{cluster: r.Cluster, kind: s.kind, live: s.live}
			failure.Diagnosis = &Diagnosis{Of: s.ID, Findings: h.find(ctx), Blocks: r.notBegun(), Waves: r.notOpened()}
		})
	}
	asking.Wait()
}

// notBegun are the resources that nothing was done about.
func (r *removal) notBegun() []object.ID {
	var ids []object.ID
	for i := range r.steps {
		if s := &r.steps[i]; s.state == NotStarted || s.state == Skipped {
			ids = append(ids, s.ID)
		}
	}
	return ids
}

// notOpened are the titles of the waves that did not begin.
func (r *removal) notOpened() []string {
	var titles []string
	for wave := r.wave + 1; wave < len(r.waves); wave++ {
		titles = append(titles, r.plan.WaveTitle(r.first+wave))
	}
	return titles
}
