package telemetry

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	dto "github.com/prometheus/client_model/go"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	applyevent "github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/apply/track"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

func crd() object.ID {
	return object.ID{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition", Name: "things"}
}

func web() object.ID {
	return object.ID{Group: "apps", Kind: "Deployment", Namespace: "shop", Name: "web"}
}

// aRun simulates a run with a CRD, and a Deployment that needs three attempts
// and times out. It sets every metric.
func aRun(t *testing.T) *Metrics {
	m := NewMetrics()
	send := m.Transport(answers{})
	cluster := m.Cluster(&client{send: send, refusals: 2}).Fenced(nil)
	get(context.Background(), t, send, "https://server/apis")
	time.Sleep(time.Second)
	run := track.New(&ordering.Plan{
		Steps:  []ordering.Step{{ID: crd(), Layers: []int{0}}, {ID: web(), Wave: 1, Layers: []int{1}}},
		Waves:  []ordering.Wave{{Name: "prerequisites"}, {Name: "web"}},
		Layers: []ordering.Layer{{Kind: ordering.Prerequisites}, {Kind: ordering.Stamped}},
	}, time.Now())
	m.Begin(run)
	event := func(id object.ID, wave int, state applyevent.State) {
		m.Event(run.Take(applyevent.Event{Time: time.Now(), ID: id, Wave: wave, State: state}))
	}
	patch := func(id object.ID) error {
		_, err := cluster.Apply(context.Background(), kube.Kind{}, manifest(id), kube.PatchOptions{})
		return err
	}
	event(object.ID{}, 0, applyevent.Applying)
	event(crd(), 0, applyevent.Applying)
	require.NoError(t, patch(crd()))
	event(crd(), 0, applyevent.Waiting)
	time.Sleep(300 * time.Millisecond)
	require.NoError(t, cluster.Refresh(context.Background()))
	kind, _ := cluster.Kind(schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"})
	cluster.Watch(context.Background(), kind, "", kube.Query{}, nil)
	event(crd(), 0, applyevent.Ready)
	event(object.ID{}, 0, applyevent.Ready)
	event(object.ID{}, 1, applyevent.Applying)
	event(web(), 1, applyevent.Applying)
	require.Error(t, patch(web()))
	require.Error(t, patch(web()))
	require.NoError(t, patch(web()))
	event(web(), 1, applyevent.Waiting)
	time.Sleep(2 * time.Second)
	event(web(), 1, applyevent.TimedOut)
	m.End(3)
	return m
}

func TestARun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := aRun(t)
		text, err := m.Text()
		require.NoError(t, err)
		for _, line := range []string{
			`ordapply_run_duration_seconds 3.3`,
			`ordapply_run_exit_code 3`,
			`ordapply_phase_duration_seconds{phase="prepare"} 1`,
			`ordapply_phase_duration_seconds{phase="prerequisites"} 0.3`,
			`ordapply_phase_duration_seconds{phase="main"} 2`,
			`ordapply_wave_duration_seconds{name="prerequisites",wave="1"} 0.3`,
			`ordapply_wave_duration_seconds{name="web",wave="2"} 2`,
			`ordapply_crd_establishment_seconds_bucket{le="0.25"} 0`,
			`ordapply_crd_establishment_seconds_bucket{le="0.5"} 1`,
			`ordapply_crd_establishment_seconds_sum 0.3`,
			`ordapply_readiness_wait_seconds_sum{kind="Deployment.apps",phase="main",state="timed_out"} 2`,
			`ordapply_requests_total{code="200",kind="",phase="prepare",verb="get"} 1`,
			`ordapply_requests_total{code="200",kind="CustomResourceDefinition.apiextensions.k8s.io",phase="prerequisites",verb="apply"} 1`,
			`ordapply_requests_total{code="200",kind="",phase="prerequisites",verb="discover"} 1`,
			`ordapply_requests_total{code="200",kind="Deployment.apps",phase="main",verb="apply"} 3`,
			`ordapply_requests_total{code="200",kind="Deployment.apps",phase="prerequisites",verb="list"} 1`,
			`ordapply_requests_total{code="200",kind="Deployment.apps",phase="prerequisites",verb="watch"} 2`,
			`ordapply_request_errors_total{kind="Deployment.apps",phase="main",reason="InternalError"} 2`,
			`ordapply_retries_total{kind="Deployment.apps",phase="main"} 2`,
			`ordapply_resources{kind="CustomResourceDefinition.apiextensions.k8s.io",phase="prerequisites",state="ready"} 1`,
			`ordapply_resource_errors_total{kind="Deployment.apps",phase="main",state="timed_out"} 1`,
		} {
			require.Contains(t, string(text), line+"\n")
		}
		require.NotContains(t, string(text), `ordapply_retries_total{kind="Custom`)
	})
}

// A rollback is a phase of its own and does not include earlier times.
func TestARollback(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := NewMetrics()
		var run *track.Tracker
		of := func(id object.ID, took time.Duration, state applyevent.State) {
			m.Event(run.Take(applyevent.Event{Time: time.Now(), State: applyevent.Applying}))
			m.Event(run.Take(applyevent.Event{Time: time.Now(), ID: id, State: applyevent.Applying}))
			m.Event(run.Take(applyevent.Event{Time: time.Now(), ID: id, State: applyevent.Waiting}))
			time.Sleep(took)
			m.Event(run.Take(applyevent.Event{Time: time.Now(), ID: id, State: state}))
		}
		begin := func() *track.Tracker {
			run = track.New(&ordering.Plan{Steps: []ordering.Step{{ID: web()}}, Waves: []ordering.Wave{{Name: "web"}}}, time.Now())
			return run
		}
		m.Begin(begin())
		of(web(), 2*time.Second, applyevent.TimedOut)
		m.failed.Store(web(), true)
		m.RollBack(1, begin())
		_, retries := m.failed.Load(web())
		require.False(t, retries)
		of(web(), time.Second, applyevent.Ready)
		m.End(3)
		require.Equal(t, 2.0, testutil.ToFloat64(m.waveDuration.WithLabelValues("1", "web")))
		for phase, seconds := range map[string]float64{Main: 2, Rollback: 1} {
			require.Equal(t, seconds, testutil.ToFloat64(m.phaseDuration.WithLabelValues(phase)), phase)
		}
		require.Equal(t, 1.0, testutil.ToFloat64(m.resources.WithLabelValues(Main, "Deployment.apps", "timed_out")))
		require.Equal(t, 1.0, testutil.ToFloat64(m.resources.WithLabelValues(Rollback, "Deployment.apps", "ready")))
	})
}

// A run that could not start has a file too.
func TestARunThatDidNotBegin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := NewMetrics()
		time.Sleep(time.Second)
		m.End(1)
		require.Equal(t, 1.0, testutil.ToFloat64(m.exitCode))
		require.Equal(t, 1.0, testutil.ToFloat64(m.duration))
		require.Equal(t, 1.0, testutil.ToFloat64(m.phaseDuration.WithLabelValues(Prepare)))
	})
}

func TestReasonOfARequestError(t *testing.T) {
	require.Equal(t, "Conflict", reason(fmt.Errorf("apply: %w", apierrors.NewConflict(configMaps(), "a", errors.New("no")))))
	require.Equal(t, "Connection", reason(io.ErrUnexpectedEOF))
}

// Names satisfy Prometheus' linter, and docs/metrics.md lists every metric.
// `make golden` updates the table.
func TestDocumentation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := aRun(t)
		problems, err := testutil.GatherAndLint(m.registry)
		require.NoError(t, err)
		require.Empty(t, problems)
		families, err := m.registry.Gather()
		require.NoError(t, err)
		require.True(t, len(families) == registered(m), "aRun leaves a metric without a value: %v", families)
		path := filepath.Join("..", "..", "..", "docs", "metrics.md")
		page, err := os.ReadFile(path)
		require.NoError(t, err)
		begin, end := "<!-- metrics: made by make golden -->\n", "<!-- end of metrics -->"
		head, rest, ok := strings.Cut(string(page), begin)
		require.True(t, ok)
		_, tail, ok := strings.Cut(rest, end)
		require.True(t, ok)
		want := head + begin + table(families) + end + tail
		if os.Getenv("ORDAPPLY_GOLDEN") != "" {
			require.NoError(t, os.WriteFile(path, []byte(want), 0o644))
			return
		}
		require.Equal(t, want, string(page), "run make golden")
	})
}

// registered returns the number of metrics, with or without a value.
func registered(m *Metrics) int {
	all := make(chan *prometheus.Desc)
	go func() {
		defer close(all)
		m.registry.Describe(all)
	}()
	n := 0
	for range all {
		n++
	}
	return n
}

func table(families []*dto.MetricFamily) string {
	var b strings.Builder
	b.WriteString("\n| metric | type | labels | meaning |\n|---|---|---|---|\n")
	for _, f := range families {
		var labels []string
		for _, l := range f.Metric[0].Label {
			labels = append(labels, "`"+l.GetName()+"`")
		}
		slices.Sort(labels)
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", f.GetName(), strings.ToLower(f.GetType().String()), strings.Join(labels, " "), f.GetHelp())
	}
	return b.String() + "\n"
}

// The files of two runs in one folder have no series in common.
func TestLabelsDistinguishRuns(t *testing.T) {
	seen := map[string]bool{}
	for _, set := range []string{"shop/a", "shop/b"} {
		synctest.Test(t, func(t *testing.T) {
			m := aRun(t)
			require.NoError(t, m.Label(map[string]string{"applyset": set}))
			text, err := m.Text()
			require.NoError(t, err)
			for line := range strings.Lines(string(text)) {
				if !strings.HasPrefix(line, "#") {
					series := line[:strings.LastIndexByte(line, ' ')]
					require.False(t, seen[series], series)
					seen[series] = true
				}
			}
		})
	}
	require.ErrorContains(t, NewMetrics().Label(map[string]string{"a-b": "c"}), `"a-b" is not a label name`)
	require.ErrorContains(t, NewMetrics().Label(map[string]string{"le": "c"}), "label le is reserved")
}
