package telemetry

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// meters are all metrics.
type meters struct {
	duration, exitCode, end     prometheus.Gauge
	phaseDuration, waveDuration *prometheus.GaugeVec
	crdEstablishment            prometheus.Histogram
	readinessWait               *prometheus.HistogramVec
	requests, requestErrors     *prometheus.CounterVec
	retried                     *prometheus.CounterVec
	resources                   *prometheus.GaugeVec
	resourceErrors              *prometheus.CounterVec
}

func newMeters(registry *prometheus.Registry) meters {
	f := promauto.With(registry)
	gauge := func(name, help string) prometheus.Gauge {
		return f.NewGauge(prometheus.GaugeOpts{Namespace: "ordapply", Name: name, Help: help})
	}
	gauges := func(name, help string, labels ...string) *prometheus.GaugeVec {
		return f.NewGaugeVec(prometheus.GaugeOpts{Namespace: "ordapply", Name: name, Help: help}, labels)
	}
	counters := func(name, help string, labels ...string) *prometheus.CounterVec {
		return f.NewCounterVec(prometheus.CounterOpts{Namespace: "ordapply", Name: name, Help: help}, labels)
	}
	crds := f.NewHistogram(prometheus.HistogramOpts{
		Namespace: "ordapply", Name: "crd_establishment_seconds",
		Help:    "Time from the apply of a CustomResourceDefinition until discovery serves its kinds.",
		Buckets: []float64{0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60},
	})
	waits := f.NewHistogramVec(prometheus.HistogramOpts{
		Namespace: "ordapply", Name: "readiness_wait_seconds",
		Help:    "Time from the apply of a resource until its final state.",
		Buckets: []float64{0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800, 3600},
	}, []string{"phase", "kind", "state"})
	return meters{
		duration:         gauge("run_duration_seconds", "Duration of the run, including its preparation."),
		exitCode:         gauge("run_exit_code", "Exit code of the command."),
		end:              gauge("run_end_timestamp_seconds", "Unix time at which the run ended."),
		phaseDuration:    gauges("phase_duration_seconds", "Time from the first request of a phase to the final state of its last resource; for prepare, until the first wave.", "phase"),
		waveDuration:     gauges("wave_duration_seconds", "Time from the opening of a wave to its end, also if it failed; none in graph mode.", "wave", "name"),
		crdEstablishment: crds,
		readinessWait:    waits,
		requests:         counters("requests_total", "HTTP requests to the API server; code 0 if there was no response.", "phase", "kind", "verb", "code"),
		requestErrors:    counters("request_errors_total", "Attempts to apply or delete a resource that failed.", "phase", "kind", "reason"),
		retried:          counters("retries_total", "Attempts to apply or delete a resource after one that failed.", "phase", "kind"),
		resources:        gauges("resources", "Resources by final state.", "phase", "kind", "state"),
		resourceErrors:   counters("resource_errors_total", "Resources that failed or were not ready in time.", "phase", "kind", "state"),
	}
}

func label(n int) string { return strconv.Itoa(n) }
