package apply

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/ordapply/ordapply/object"
)

// How much is asked about what did not become ready. Those requests come on top
// of the run's own.
const (
	diagnosed        = 8                // resources at most, in plan order
	diagnosedAtOnce  = 4                // of them
	requestsEach     = 9                // at most, for one resource
	diagnosisTimeout = 10 * time.Second // for one resource, and for all of them when the run's time is over
)

// diagnose asks the cluster about the resources that were applied and did not
// become ready, and about webhooks that did not let any be applied. It is made after the run, never fails it, and ends at once when
// ctx does: whoever interrupts wants no explanations.
func (r *run) diagnose(ctx context.Context) {
	ctx, cancel := explaining(ctx)
	defer cancel()
	if ctx.Err() != nil || r.a.NoDiagnosis {
		return
	}
	secrets, known := r.secretValues()
	var asking sync.WaitGroup
	turns := make(chan struct{}, diagnosedAtOnce)
	left, silence := diagnosed, r.reach.silence()
	for i := range r.steps {
		s := &r.steps[i]
		failure := &Error{}
		backends := slices.Clone(s.backends)
		if webhook, ok := webhookService(s.err); ok {
			backends = []object.ID{webhook}
		}
		if s.last == nil && len(backends) == 0 || !errors.As(s.err, &failure) || left == 0 {
			continue
		}
		left--
		asking.Go(func() {
			turns <- struct{}{}
			defer func() { <-turns }()
			ctx, cancel := context.WithTimeout(ctx, diagnosisTimeout)
			defer cancel()
			q := &inquiry{cluster: r.a.Cluster, now: time.Now(), left: requestsEach, asked: map[types.UID]bool{}, known: maps.Clone(known)}
			if silence != "" {
				q.left = 0
				q.missed("the cause was not asked for: " + silence)
			}
			blocks := r.blockedBy(i)
			findings := q.about(ctx, s.last, backends)
			failure.Diagnosis = &Diagnosis{
				Of: s.ID, Findings: newValues(slices.Concat(secrets, q.values)).hide(findings),
				Blocks: blocks, Waves: r.laterWaves(i, blocks),
			}
		})
	}
	asking.Wait()
}

// blockedBy are the resources that were not applied because of a step: those
// that need it, directly or through others, then those of later waves.
func (r *run) blockedBy(i int) []object.ID {
	var blocked []object.ID
	seen := map[int]bool{i: true}
	add := func(n int) {
		if s := &r.steps[n]; s.state == Skipped || s.state == NotStarted {
			blocked = append(blocked, s.ID)
		}
	}
	for queue := []int{i}; len(queue) > 0; queue = queue[1:] {
		for _, w := range r.wires[queue[0]] {
			if seen[w.to] {
				continue
			}
			seen[w.to] = true
			queue = append(queue, w.to)
			if w.to < len(r.steps) {
				add(w.to)
			}
		}
	}
	for n := range r.steps {
		if r.a.Schedule == Waves && r.steps[n].Wave > r.steps[i].Wave && !seen[n] {
			add(n)
		}
	}
	return blocked
}

// laterWaves are the titles of the waves after a step's own that hold resources.
func (r *run) laterWaves(i int, ids []object.ID) []string {
	if r.a.Schedule != Waves {
		return nil
	}
	held := map[int]bool{}
	for _, id := range ids {
		held[r.steps[r.byID[id]].Wave] = true
	}
	var titles []string
	for wave := r.steps[i].Wave + 1; wave < len(r.plan.Waves); wave++ {
		if held[wave] {
			titles = append(titles, r.plan.WaveTitle(wave))
		}
	}
	return titles
}
