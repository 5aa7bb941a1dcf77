package apply

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/internal/kube/fault"
	"github.com/ordapply/ordapply/internal/kube/redact"
	"github.com/ordapply/ordapply/internal/live/diagnose"
	"github.com/ordapply/ordapply/internal/run/loop"
	"github.com/ordapply/ordapply/object"
)

// diagnose asks the cluster about the resources that were applied and did not
// become ready, and about webhooks that kept resources from being applied. It
// runs after the run, never fails it, and ends at once when ctx is canceled:
// an interrupted run is not diagnosed.
func (r *run) diagnose(ctx context.Context) {
	ctx, cancel := loop.Explaining(ctx, diagnose.Timeout)
	defer cancel()
	if ctx.Err() != nil || r.applier.NoDiagnosis {
		return
	}
	secrets, known := r.secretValues()
	turns, silence := diagnose.NewTurns(), r.Outages.Outage()
	for i := range r.steps {
		s := &r.steps[i]
		failure := &event.Error{}
		backends := slices.Clone(s.backends)
		if webhook, ok := fault.WebhookService(s.err); ok {
			backends = []object.ID{webhook}
		}
		if s.lastSeen == nil && len(backends) == 0 || !errors.As(s.err, &failure) || !turns.Left() {
			continue
		}
		turns.Go(ctx, func(ctx context.Context) {
			q := &diagnose.Diagnoser{Cluster: r.applier.Cluster, Now: time.Now(), RequestsLeft: diagnose.MaxRequests, EventsRead: map[types.UID]bool{}, KnownSecrets: maps.Clone(known)}
			if silence != "" {
				q.RequestsLeft = 0
				q.RecordUnread("the cause was not determined: " + silence)
			}
			d := q.Diagnose(ctx, s.ID, s.lastSeen, backends)
			diagnose.Redact(&d, redact.NewReplacer(slices.Concat(secrets, q.SecretValues)))
			d.Blocks = r.blockedBy(i)
			d.Waves = r.laterWaves(i, d.Blocks)
			failure.Diagnosis = &d
		})
	}
	turns.Wait()
}

// blockedBy returns the resources that were not applied because of a step:
// its dependents, direct and indirect, then resources of later waves.
func (r *run) blockedBy(i int) []object.ID {
	var blocked []object.ID
	seen := map[int]bool{i: true}
	add := func(n int) {
		if s := &r.steps[n]; s.state == event.Skipped || s.state == event.NotStarted {
			blocked = append(blocked, s.ID)
		}
	}
	for _, node := range r.order.Dependents(i) {
		if seen[node] = true; node < len(r.steps) {
			add(node)
		}
	}
	for n := range r.steps {
		if r.applier.Schedule == Waves && r.steps[n].Wave > r.steps[i].Wave && !seen[n] {
			add(n)
		}
	}
	return blocked
}

// laterWaves returns the titles of the waves after a step's own that contain
// these resources.
func (r *run) laterWaves(i int, ids []object.ID) []string {
	if r.applier.Schedule != Waves {
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

// secretValues returns the values of the stream's Secrets, and the IDs of
// these Secrets. Programs print such values in their logs, and controllers in
// messages.
func (r *run) secretValues() (all []string, known map[object.ID]bool) {
	known = map[object.ID]bool{}
	for _, obj := range r.applier.Secrets {
		all = append(all, redact.Values(obj)...)
	}
	for i := range r.steps {
		all = append(all, r.secretsOf(i)...)
		if s := &r.steps[i]; s.ID.Kind == "Secret" && s.ID.Group == "" && s.manifest != nil {
			all = append(all, redact.Values(s.manifest)...)
			known[s.ID] = true
		}
	}
	return all, known
}
