package telemetry

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/ordapply/ordapply/internal/version"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// endTimeout limits how long the end of a run waits for the collector, unless
// OTEL_EXPORTER_OTLP_TIMEOUT, in milliseconds, says more.
const endTimeout = 5 * time.Second

func endLimit() time.Duration {
	text := os.Getenv("OTEL_EXPORTER_OTLP_TIMEOUT")
	said, _ := strconv.Atoi(text) // 0: the library reports invalid numbers
	return max(endTimeout, time.Duration(said)*time.Millisecond)
}

// queued is the number of spans that wait for the collector at most, unless
// OTEL_BSP_MAX_QUEUE_SIZE says another: later ones would be dropped.
const queued = 1 << 16

// Trace is the trace of a run.
type Trace struct {
	provider *sdktrace.TracerProvider
	tracer   trace.Tracer
	run      trace.Span

	mu      sync.Mutex
	lost    error          // the last error of sending spans
	base    trace.Span     // of the run, or of its rollback
	open    trace.Span     // of the open wave; nil without one
	plan    *ordering.Plan // the current one
	waves   map[int]trace.Span
	members map[object.ID]int // wave of each resource of the plan
	objects map[object.ID]trace.Span
}

// endpoint reports whether the environment names a collector for traces.
func endpoint() bool {
	switch {
	case strings.EqualFold(os.Getenv("OTEL_SDK_DISABLED"), "true"), os.Getenv("OTEL_TRACES_EXPORTER") == "none":
		return false
	}
	return first("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT") != ""
}

// first returns the first variable that is set.
func first(names ...string) string {
	for _, name := range names {
		if value := os.Getenv(name); value != "" {
			return value
		}
	}
	return ""
}

// StartTrace begins the trace of a command, below the span of TRACEPARENT if there is one.
// It returns nil if the environment names no collector, and an error if it asks for
// unsupported settings: the run then goes on without a trace.
func StartTrace(ctx context.Context, command string, labels map[string]string) (*Trace, error) {
	if !endpoint() {
		return nil, nil
	}
	if exporter := os.Getenv("OTEL_TRACES_EXPORTER"); exporter != "" && exporter != "otlp" {
		return nil, fmt.Errorf("OTEL_TRACES_EXPORTER=%s: only otlp is supported", exporter)
	}
	if protocol := first("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"); protocol != "" && protocol != "http/protobuf" {
		return nil, fmt.Errorf("the OTLP protocol %s is not supported: set OTEL_EXPORTER_OTLP_TRACES_PROTOCOL=http/protobuf and OTEL_EXPORTER_OTLP_TRACES_ENDPOINT to the HTTP port of the collector, by default 4318", protocol)
	}
	if err := checkAddress(); err != nil {
		return nil, err
	}
	otel.SetLogger(logr.Discard()) // it would print values of the environment, with passwords
	exporter, err := otlptracehttp.New(ctx)
	if err != nil {
		return nil, err
	}
	t := &Trace{waves: map[int]trace.Span{}, members: map[object.ID]int{}, objects: map[object.ID]trace.Span{}}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(t.lose))
	var batch []sdktrace.BatchSpanProcessorOption
	if os.Getenv("OTEL_BSP_MAX_QUEUE_SIZE") == "" {
		batch = append(batch, sdktrace.WithMaxQueueSize(queued))
	}
	t.provider = sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter, batch...), sdktrace.WithResource(program(ctx)))
	t.tracer = t.provider.Tracer("github.com/ordapply/ordapply")
	var attributes []attribute.KeyValue
	for name, value := range labels {
		attributes = append(attributes, attribute.String("ordapply."+name, value))
	}
	_, t.run = t.tracer.Start(parent(ctx), command, trace.WithAttributes(attributes...))
	t.base = t.run
	return t, nil
}

// checkAddress returns an error for an endpoint or headers that the exporter would skip.
// It does not repeat them: both may hold passwords.
func checkAddress() error {
	for _, name := range []string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"} {
		value := os.Getenv(name)
		at, err := url.Parse(value)
		if value != "" && (err != nil || at.Scheme != "http" && at.Scheme != "https" || at.Host == "") {
			return fmt.Errorf("%s must be a URL such as http://collector.monitoring:4318", name)
		}
	}
	for _, name := range []string{"OTEL_EXPORTER_OTLP_TRACES_HEADERS", "OTEL_EXPORTER_OTLP_HEADERS"} {
		for pair := range strings.SplitSeq(os.Getenv(name), ",") {
			if pair != "" && !strings.Contains(pair, "=") {
				return fmt.Errorf("%s must be pairs such as NAME=VALUE, separated by commas", name)
			}
		}
	}
	return nil
}

// parent returns a context with the command's parent span.
func parent(ctx context.Context) context.Context {
	return propagation.TraceContext{}.Extract(context.WithoutCancel(ctx), propagation.MapCarrier{
		"traceparent": os.Getenv("TRACEPARENT"), "tracestate": os.Getenv("TRACESTATE"),
	})
}

// program describes this program, unless OTEL_SERVICE_NAME and
// OTEL_RESOURCE_ATTRIBUTES say otherwise.
func program(ctx context.Context) *resource.Resource {
	r, _ := resource.New(ctx, // an error leaves out unknown attributes
		resource.WithTelemetrySDK(),
		resource.WithAttributes(attribute.String("service.name", "ordapply"), attribute.String("service.version", version.Own("ordapply").Version)),
		resource.WithFromEnv())
	return r
}

// lose records that spans could not be sent.
func (t *Trace) lose(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lost = err
}

// End ends all spans, that of the run with its outcome, and sends the rest. It returns an
// error if the collector did not take spans.
func (t *Trace) End(outcome error) error {
	if t == nil {
		return nil
	}
	t.mu.Lock()
	t.endSpans(time.Now())
	end(t.run, outcome, time.Now())
	t.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), endLimit())
	defer cancel()
	err := t.provider.Shutdown(ctx)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.lost != nil {
		err = t.lost
	}
	return err
}

// endSpans ends the spans of resources, waves and a rollback that are open.
func (t *Trace) endSpans(now time.Time) {
	for _, span := range t.objects {
		end(span, nil, now)
	}
	clear(t.objects)
	for _, span := range t.waves {
		end(span, nil, now)
	}
	clear(t.waves)
	t.open = nil
	if t.base != t.run {
		end(t.base, nil, now)
	}
	t.base = t.run
}

// start begins a span within another one.
func (t *Trace) start(within trace.Span, name string, started time.Time, attributes ...attribute.KeyValue) trace.Span {
	_, span := t.tracer.Start(trace.ContextWithSpan(context.Background(), within), name, trace.WithTimestamp(started), trace.WithAttributes(attributes...))
	return span
}

// end ends a span, as failed if there is a failure.
func end(span trace.Span, failure error, now time.Time) {
	if failure != nil {
		span.SetStatus(codes.Error, failure.Error())
	}
	span.End(trace.WithTimestamp(now))
}
