// Package metrics measures a run for Prometheus, as KubeVela KEP-0005 asks: how
// long phases and waves took, how long CRDs took to be established, and how
// many requests, retries and errors there were by phase and kind.
//
//	m := metrics.New()
//	config.Wrap(m.Transport)             // counts requests
//	applier.Cluster = m.Cluster(cluster) // tells what each request is for
//	m.Begin(plan); …; m.Event(e); …; m.End(summary, exitCode)
//	text, err := m.Text()
//
// docs/metrics.md lists all of them and is made by `make golden`.
package metrics

import (
	"bytes"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// The phases of a run.
const (
	Prepare       = "prepare"       // until the first wave: manifests are read, the cluster is asked what it serves, the plan is made
	Prerequisites = "prerequisites" // CRDs, Namespaces and --prerequisite-kinds that nothing else placed
	Main          = "main"          // all other resources
	Rollback      = "rollback"      // all of the rollback that follows a failure; its waves are not told apart
)

// Metrics are those of one run. Event, Begin and End are called from one
// goroutine; requests may come from any.
type Metrics struct {
	registry *prometheus.Registry
	meters

	made    time.Time
	plan    *ordering.Plan
	phases  map[object.ID]string
	answers map[object.ID]time.Time // when a resource was applied
	spans   map[string]*span        // of phases
	phase   atomic.Value            // the phase that the run is in, a string
	rolling bool                    // the run failed and goes back
	open    int                     // the open wave; -1 when none is
	opened  time.Time
	last    time.Time         // of the events
	labels  map[string]string // of every series
	retries
}

// span is from the first PATCH of a phase to the last final state.
type span struct{ first, last time.Time }

// New is for a run whose preparation begins now.
func New() *Metrics {
	m := &Metrics{
		registry: prometheus.NewRegistry(), made: time.Now(), open: -1,
		phases: map[object.ID]string{}, answers: map[object.ID]time.Time{}, spans: map[string]*span{},
		retries: retries{failed: map[object.ID]bool{}},
	}
	m.meters = newMeters(m.registry)
	m.phase.Store(Prepare)
	return m
}

// Label adds labels to every series. The error names the first that cannot be.
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
func (m *Metrics) Begin(plan *ordering.Plan) {
	m.phaseDuration.WithLabelValues(Prepare).Set(time.Since(m.made).Seconds())
	m.phase.Store(Main)
	m.Extend(plan)
}

// Extend takes the plan with further waves at its end.
func (m *Metrics) Extend(plan *ordering.Plan) {
	m.plan = plan
	for _, s := range plan.Steps {
		if m.phases[s.ID] = Main; m.rolling {
			m.phases[s.ID] = Rollback
			continue
		}
		for _, n := range s.Layers {
			if plan.Layers[n].Kind == ordering.Prerequisites {
				m.phases[s.ID] = Prerequisites
			}
		}
	}
}

// RollBack tells that the run has failed and goes back, by another plan.
func (m *Metrics) RollBack(plan *ordering.Plan) {
	if m.open >= 0 {
		m.endWave(m.last)
	}
	m.phase.Store(Rollback)
	m.rolling = true
	m.answers = map[object.ID]time.Time{}
	m.forget()
	m.Extend(plan)
}

// Event takes one transition.
func (m *Metrics) Event(e apply.Event) {
	m.last = e.Time
	if e.ID == (object.ID{}) {
		if !m.rolling {
			m.wave(e)
		}
		return
	}
	phase := m.phases[e.ID]
	switch {
	case e.State == apply.Applying, e.State == apply.Deleting:
		if m.spans[phase] == nil {
			m.spans[phase] = &span{first: e.Time}
		}
	case e.State == apply.Waiting && m.answers[e.ID].IsZero():
		m.answers[e.ID] = e.Time
	case e.State.Final():
		m.final(phase, e)
	}
}

func (m *Metrics) final(phase string, e apply.Event) {
	state := strings.ReplaceAll(string(e.State), " ", "_")
	m.resources.WithLabelValues(phase, e.ID.GroupKind(), state).Inc()
	if e.State == apply.Failed || e.State == apply.TimedOut {
		m.resourceErrors.WithLabelValues(phase, e.ID.GroupKind(), state).Inc()
	}
	if s := m.spans[phase]; s != nil {
		s.last = e.Time
	}
	answered := m.answers[e.ID]
	if answered.IsZero() {
		return
	}
	waited := e.Time.Sub(answered).Seconds()
	m.readinessWait.WithLabelValues(phase, e.ID.GroupKind(), state).Observe(waited)
	if e.State == apply.Ready && e.ID.Kind == "CustomResourceDefinition" && e.ID.Group == "apiextensions.k8s.io" {
		m.crdEstablishment.Observe(waited)
	}
}

// wave takes the opening or the end of a wave.
func (m *Metrics) wave(e apply.Event) {
	if e.EndsWave() {
		m.endWave(e.Time)
		return
	}
	m.open, m.opened = e.Wave, e.Time
	m.phase.Store(Main)
	for _, s := range m.plan.Steps {
		if s.Wave == e.Wave && m.phases[s.ID] == Prerequisites {
			m.phase.Store(Prerequisites)
			return
		}
	}
}

func (m *Metrics) endWave(at time.Time) {
	m.waveDuration.WithLabelValues(label(m.open+1), m.plan.Waves[m.open].Name).Set(at.Sub(m.opened).Seconds())
	m.open = -1
}

// End sums the run up, or what kept it from beginning.
func (m *Metrics) End(exitCode int) {
	now := time.Now()
	if m.open >= 0 {
		m.endWave(m.last)
	}
	for phase, s := range m.spans {
		if s.last.IsZero() {
			s.last = m.last
		}
		m.phaseDuration.WithLabelValues(phase).Set(s.last.Sub(s.first).Seconds())
	}
	if m.plan == nil {
		m.phaseDuration.WithLabelValues(Prepare).Set(now.Sub(m.made).Seconds())
	}
	m.duration.Set(now.Sub(m.made).Seconds())
	m.exitCode.Set(float64(exitCode))
	m.end.Set(float64(now.UnixMilli()) / 1000)
}

// Text gives all metrics in Prometheus' text format.
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
