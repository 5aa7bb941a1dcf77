package telemetry

import (
	"errors"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/apply/track"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// Begin learns the resources and waves of the run.
func (t *Trace) Begin(run *track.Tracker) { t.learn(run.Plan) }

// Extend learns more of them.
func (t *Trace) Extend(more track.Extension) { t.learn(more.Plan) }

// RollBack begins a span in which another run undoes this one.
func (t *Trace) RollBack(revision int, run *track.Tracker) {
	t.mu.Lock()
	t.endSpans(run.Started)
	t.base = t.start(t.run, fmt.Sprintf("rollback to revision %d", revision), run.Started)
	clear(t.members)
	t.mu.Unlock()
	t.learn(run.Plan)
}

func (t *Trace) learn(plan *ordering.Plan) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.plan = plan
	for i := range plan.Steps {
		t.members[plan.Steps[i].ID] = plan.Steps[i].Wave
	}
}

// Event begins and ends the spans that a transition is about.
func (t *Trace) Event(change track.Transition) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch change.Kind {
	case track.WaveOpened:
		t.openWave(change)
	case track.WaveEnded:
		if span := t.waves[change.Wave]; span != nil {
			end(span, nil, change.Time)
			delete(t.waves, change.Wave)
		}
		t.open = nil
	case track.Sent:
		t.object(change.ID, change.Time)
	case track.Applied, track.Progressed:
		t.object(change.ID, change.Time).AddEvent(string(change.State),
			trace.WithTimestamp(change.Time), trace.WithAttributes(attribute.String("detail", change.Detail)))
	case track.Ended:
		t.endObject(change)
	}
}

func (t *Trace) openWave(change track.Transition) {
	t.open = t.start(t.base, t.plan.WaveTitle(change.Wave), change.Time)
	t.waves[change.Wave] = t.open
}

func (t *Trace) endObject(change track.Transition) {
	started := change.Sent
	if started.IsZero() {
		started = change.Time
	}
	span := t.object(change.ID, started)
	span.SetAttributes(attribute.String("ordapply.state", string(change.State)))
	var failure error
	if change.State == event.Failed {
		failure = errors.New(change.Detail)
	}
	end(span, failure, change.Time)
	delete(t.objects, change.ID)
}

// object returns a resource's span, which begins with the first transition
// or request that is about the resource. t.mu is held.
func (t *Trace) object(id object.ID, started time.Time) trace.Span {
	if span := t.objects[id]; span != nil {
		return span
	}
	within := t.base
	if wave, known := t.members[id]; known && t.waves[wave] != nil {
		within = t.waves[wave]
	}
	t.objects[id] = t.start(within, id.String(), started,
		attribute.String("k8s.namespace.name", id.Namespace), attribute.String("ordapply.kind", id.GroupKind()), attribute.String("ordapply.name", id.Name))
	return t.objects[id]
}
