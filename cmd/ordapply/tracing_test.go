package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/internal/cli/report"
	"github.com/ordapply/ordapply/test/testcluster"
)

// A span as the collector got it.
type span struct {
	TraceID, SpanID, ParentSpanID, Name string
	Kind                                int
	Status                              struct{ Code int }
	Attributes                          []struct {
		Key   string
		Value struct{ StringValue, IntValue string }
	}
	Events []struct{ Name string }
}

// The receiver of the OpenTelemetry collector gets the spans of the run, its waves, their
// resources and their requests, each within the other, below the span of TRACEPARENT.
func TestTraces(t *testing.T) {
	cluster := shared.Get(t)
	address, end := startCollector(t)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://"+address)
	t.Setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "60000") // the machine may be busy
	t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment=test")
	t.Setenv("TRACEPARENT", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	stream := `
apiVersion: v1
kind: Namespace
metadata: {name: traced}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: traced}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: nginx}]}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: refused, namespace: traced, annotations: {ordapply.dev/depends-on: apps/namespaces/traced/Deployment/web}}
data: {"not a key": ""}
`
	var out, output bytes.Buffer
	code := run(context.Background(), []string{"apply", "-f", "-", "--kubeconfig", cluster.Kubeconfig, "--applyset", "traced", "-n", "default"}, strings.NewReader(stream), &out, &output)
	require.Equal(t, report.ExitFailed, code, output.String())
	require.NotContains(t, output.String(), "the trace")

	spans := map[string]span{}
	children := map[string][]string{}
	text := end()
	for _, s := range spansOf(t, text) {
		require.Equal(t, "0af7651916cd43dd8448eb211c80319c", s.TraceID)
		spans[s.SpanID] = s
		children[s.ParentSpanID] = append(children[s.ParentSpanID], s.SpanID)
	}
	require.Contains(t, text, `"deployment.environment"`)
	require.NotContains(t, text, "Bearer")
	find := func(parent, prefix string) (string, span) {
		for _, id := range children[parent] {
			if strings.HasPrefix(spans[id].Name, prefix) {
				return id, spans[id]
			}
		}
		require.Failf(t, "no such span", "%s below %q in %s", prefix, spans[parent].Name, text)
		return "", span{}
	}
	run, whole := find("b7ad6b7169203331", "ordapply apply")
	require.Len(t, children["b7ad6b7169203331"], 1)
	require.Equal(t, 2, whole.Status.Code, "it failed")
	require.Contains(t, text, `"ordapply.applyset"`)
	wave, _ := find(run, "wave 2/3")
	web, resource := find(wave, "Deployment traced/web")
	require.NotEmpty(t, resource.Events)
	_, patch := find(web, "PATCH /apis/apps/v1/namespaces/traced/deployments/web")
	require.Equal(t, 3, patch.Kind, "a client's")
	refusedWave, _ := find(run, "wave 3/3")
	refused, failed := find(refusedWave, "ConfigMap traced/refused")
	require.Equal(t, 2, failed.Status.Code)
	_, answer := find(refused, "PATCH ")
	require.Equal(t, 2, answer.Status.Code)
	for _, s := range spans {
		_, known := spans[s.ParentSpanID]
		require.True(t, known || s.SpanID == run, "%s has a parent", s.Name)
	}
}

// A collector that is not there changes neither the run nor its exit code, and is named once.
func TestTracesOfNoCollector(t *testing.T) {
	cluster := shared.Get(t)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
	t.Setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "1000")
	apply := func() string {
		var out, output bytes.Buffer
		stream := `{apiVersion: v1, kind: ConfigMap, metadata: {name: untraced}}`
		code := run(context.Background(), []string{"apply", "-f", "-", "--kubeconfig", cluster.Kubeconfig}, strings.NewReader(stream), &out, &output)
		require.Equal(t, report.ExitDone, code, output.String())
		return output.String()
	}
	started := time.Now()
	require.Equal(t, 1, strings.Count(apply(), "warning: the trace is incomplete: "))
	require.Less(t, time.Since(started), 20*time.Second)
	for name, value := range map[string]string{"OTEL_EXPORTER_OTLP_HEADERS": "Bearer hunter2", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://us er:hunter2@collector"} {
		t.Run(name, func(t *testing.T) { // a password is never printed
			t.Setenv(name, value)
			output := apply()
			require.Contains(t, output, "warning: the trace is incomplete: "+name+" must be ")
			require.NotContains(t, output, "hunter2")
		})
	}
	t.Setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")
	require.Contains(t, apply(), "warning: the trace is incomplete: the OTLP protocol grpc is not supported: set OTEL_EXPORTER_OTLP_TRACES_PROTOCOL=http/protobuf")
	t.Setenv("OTEL_SDK_DISABLED", "true")
	require.NotContains(t, apply(), "the trace")
}

// startCollector runs the receiver of the OpenTelemetry collector. end stops it and returns
// its output.
func startCollector(t *testing.T) (address string, end func() string) {
	t.Helper()
	bin, err := testcluster.Find("otlp-receiver")
	if err != nil {
		testcluster.Skip(t, "the receiver of the OpenTelemetry collector (run `make otlp-receiver`)")
	}
	cmd := exec.Command(bin)
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = stdin.Close(); _ = cmd.Wait() })
	lines := bufio.NewReader(stdout)
	address, err = lines.ReadString('\n')
	require.NoError(t, err)
	read := make(chan string, 1)
	go func() { // while spans arrive: unread output fills the pipe, and the receiver answers no more
		text, _ := io.ReadAll(lines)
		read <- string(text)
	}()
	return strings.TrimSpace(address), func() string {
		require.NoError(t, stdin.Close())
		return <-read
	}
}

// spansOf reads batches of spans, in OTLP's JSON.
func spansOf(t *testing.T, text string) []span {
	t.Helper()
	var spans []span
	for line := range strings.Lines(text) {
		var batch struct {
			ResourceSpans []struct{ ScopeSpans []struct{ Spans []span } }
		}
		require.NoError(t, json.Unmarshal([]byte(line), &batch))
		for _, r := range batch.ResourceSpans {
			for _, s := range r.ScopeSpans {
				spans = append(spans, s.Spans...)
			}
		}
	}
	return spans
}
