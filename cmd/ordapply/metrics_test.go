package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/internal/cli/report"
	"github.com/ordapply/ordapply/test/recorder"
)

// The metrics count exactly the requests that arrive, including retries.
func TestMetricsCountEveryRequest(t *testing.T) {
	cluster := shared.Get(t)
	proxy := recorder.Start(t, cluster.Kubeconfig)
	patch := recorder.Verb("patch", "configmaps")
	proxy.Inject(recorder.Times(3, patch, recorder.Status(503, "ServiceUnavailable", "busy")))
	file := filepath.Join(t.TempDir(), "run.prom")
	stream := `{apiVersion: v1, kind: Namespace, metadata: {name: metered}}
---
{apiVersion: v1, kind: Secret, metadata: {name: first, namespace: metered}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: second, namespace: metered}}
`
	var out, output bytes.Buffer
	code := run(context.Background(), []string{"apply", "-f", "-", "--kubeconfig", proxy.Kubeconfig, "--metrics-file", file}, bytes.NewReader([]byte(stream)), &out, &output)
	require.Equal(t, report.ExitDone, code, output.String())
	families := readMetrics(t, file)
	require.Len(t, proxy.Requests(), int(total(families["ordapply_requests_total"])))
	require.Equal(t, 3.0, total(families["ordapply_retries_total"]))
	require.Equal(t, 3.0, total(families["ordapply_request_errors_total"]))
	require.Equal(t, 6.0, total(families["ordapply_requests_total"], "verb", "apply"))
	require.Equal(t, 3.0, total(families["ordapply_requests_total"], "code", "503"))
	require.Equal(t, 3.0, total(families["ordapply_resources"], "state", "ready"))
}

func readMetrics(t *testing.T, path string) map[string]*dto.MetricFamily {
	t.Helper()
	file, err := os.Open(path)
	require.NoError(t, err)
	defer file.Close()
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(file)
	require.NoError(t, err)
	return families
}

// total returns the sum of a metric's values, optionally with a label value.
func total(family *dto.MetricFamily, label ...string) float64 {
	sum := 0.0
	for _, m := range family.GetMetric() {
		wanted := len(label) == 0
		for _, l := range m.Label {
			wanted = wanted || l.GetName() == label[0] && l.GetValue() == label[1]
		}
		if wanted {
			sum += m.GetCounter().GetValue() + m.GetGauge().GetValue()
		}
	}
	return sum
}
