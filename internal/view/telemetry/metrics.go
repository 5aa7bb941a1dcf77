package telemetry

import (
	"bytes"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"

	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/apply/track"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// Phases of a run.
const (
	Prepare       = "prepare"       // until the first wave: reading manifests, discovery, planning
	Prerequisites = "prerequisites" // CRDs, Namespaces and --prerequisite-kinds that nothing else placed
	Main          = "main"          // all other resources
	Rollback      = "rollback"      // the rollback after a failure; its waves are not distinguished
)

// Metrics are the metrics of one run. Event, Begin and End must be called from
// one goroutine; requests may come from any.
type Metrics struct {
	registry *prometheus.Registry
	meters
	labels map[string]string // of every series

	made    time.Time
	run     *track.Tracker // of the rollback, once it began; nil before the first wave
	rolling bool           // the run failed and is rolling back
	phases  map[object.ID]string
	phase   atomic.Value // the current phase, a string
	failed  sync.Map     // IDs of resources whose last attempt failed
}

// NewMetrics returns the metrics of a run whose preparation starts now.
func NewMetrics() *Metrics {
	m := &Metrics{
		registry: prometheus.NewRegistry(), made: time.Now(),
		phases: map[object.ID]string{},
	}
	m.meters = newMeters(m.registry)
	m.phase.Store(Prepare)
	return m
}

// Label adds labels to every series. The error names the first invalid one.
func (m *Metrics) Label(labels map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		if err := checkLabel(name); err != nil {
			return err
		}
	}
	m.labels = labels
	return nil
}

// Begin ends the preparation.
func (m *Metrics) Begin(run *track.Tracker) {
	m.phaseDuration.WithLabelValues(Prepare).Set(time.Since(m.made).Seconds())
	m.phase.Store(Main)
	m.run = run
	m.setPhases(run.Plan)
}

// Extend continues with a plan that has additional waves.
func (m *Metrics) Extend(more track.Extension) { m.setPhases(more.Plan) }

// setPhases assigns the resources of a plan to phases.
func (m *Metrics) setPhases(plan *ordering.Plan) {
	for _, s := range plan.Steps {
		isPrerequisite := func(n int) bool { return plan.Layers[n].Kind == ordering.Prerequisites }
		switch {
		case m.rolling:
			m.phases[s.ID] = Rollback
		case slices.ContainsFunc(s.Layers, isPrerequisite):
			m.phases[s.ID] = Prerequisites
		default:
			m.phases[s.ID] = Main
		}
	}
}

// RollBack records that the run failed and a rollback follows, which is a run of its own.
func (m *Metrics) RollBack(_ int, run *track.Tracker) {
	m.endRun()
	m.phase.Store(Rollback)
	m.rolling = true
	m.failed.Clear()
	m.run = run
	m.setPhases(run.Plan)
}

// Event records an event. Hooks are not measured.
func (m *Metrics) Event(t track.Transition) {
	switch {
	case t.Hook != nil:
	case t.Kind == track.WaveOpened && !m.rolling:
		m.phase.Store(m.phaseOf(t.Wave))
	case t.Kind == track.WaveEnded:
		m.endWave(t.Wave, t.Took())
	case t.Kind == track.Ended:
		m.final(t)
	}
}

// final records the final state of a resource.
func (m *Metrics) final(t track.Transition) {
	phase, kind := m.phases[t.ID], t.ID.GroupKind()
	state := strings.ReplaceAll(string(t.State), " ", "_")
	m.resources.WithLabelValues(phase, kind, state).Inc()
	if t.State == event.Failed || t.State == event.TimedOut {
		m.resourceErrors.WithLabelValues(phase, kind, state).Inc()
	}
	if t.Applied.IsZero() {
		return
	}
	waited := t.Done.Sub(t.Applied).Seconds()
	m.readinessWait.WithLabelValues(phase, kind, state).Observe(waited)
	if t.State == event.Ready && t.ID.IsCRD() {
		m.crdEstablishment.Observe(waited)
	}
}

// phaseOf returns the phase of a wave: that of its prerequisites, if it has any.
func (m *Metrics) phaseOf(wave int) string {
	for _, i := range m.run.Waves[wave].Members {
		if m.phases[m.run.Resources[i].ID] == Prerequisites {
			return Prerequisites
		}
	}
	return Main
}

func (m *Metrics) endWave(n int, took time.Duration) {
	if !m.rolling {
		m.waveDuration.WithLabelValues(label(n+1), m.run.Plan.Waves[n].Name).Set(took.Seconds())
	}
}

// endRun records the wave that a failure left open, and the duration of each phase: from
// the first request for one of its resources to the last final state.
func (m *Metrics) endRun() {
	if open := m.run.Open; open != track.None {
		m.endWave(open, m.run.Last.Sub(m.run.Waves[open].Opened))
	}
	spans := map[string]event.Times{}
	for _, r := range m.run.Resources {
		phase := m.phases[r.ID]
		span := spans[phase]
		if !r.Sent.IsZero() && (span.Sent.IsZero() || r.Sent.Before(span.Sent)) {
			span.Sent = r.Sent
		}
		if r.Done.After(span.Done) {
			span.Done = r.Done
		}
		spans[phase] = span
	}
	for phase, span := range spans {
		if span.Done.IsZero() {
			span.Done = m.run.Last
		}
		if !span.Sent.IsZero() {
			m.phaseDuration.WithLabelValues(phase).Set(span.Took(span.Done).Seconds())
		}
	}
}

// End records the end of the run, or that it could not start.
func (m *Metrics) End(exitCode int) {
	now := time.Now()
	if m.run == nil {
		m.phaseDuration.WithLabelValues(Prepare).Set(now.Sub(m.made).Seconds())
	} else {
		m.endRun()
	}
	m.duration.Set(now.Sub(m.made).Seconds())
	m.exitCode.Set(float64(exitCode))
	m.end.Set(float64(now.UnixMilli()) / 1000)
}

// Text returns all metrics in Prometheus' text format.
func (m *Metrics) Text() ([]byte, error) {
	families, err := m.registry.Gather()
	if err != nil {
		return nil, err
	}
	withLabels(families, m.labels)
	var text bytes.Buffer
	for _, family := range families {
		if _, err := expfmt.MetricFamilyToText(&text, family); err != nil {
			return nil, err
		}
	}
	return text.Bytes(), nil
}
