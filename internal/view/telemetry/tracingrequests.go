package telemetry

import (
	"context"
	"net/http"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/kube"
)

// Cluster returns a cluster whose writes are parts of the spans of their resources.
func (t *Trace) Cluster(cluster kube.Cluster) kube.Cluster {
	if t == nil {
		return cluster
	}
	return &traced{cluster, t}
}

type traced struct {
	kube.Cluster
	t *Trace
}

// Fenced implements kube.Cluster.
func (c *traced) Fenced(fence kube.Fence) kube.Cluster { return &traced{c.Cluster.Fenced(fence), c.t} }

// about returns a context for requests about an object.
func (c *traced) about(ctx context.Context, obj *unstructured.Unstructured) context.Context {
	c.t.mu.Lock()
	defer c.t.mu.Unlock()
	return trace.ContextWithSpan(ctx, c.t.object(kube.Meta(obj).ID, time.Now()))
}

func (c *traced) Apply(ctx context.Context, kind kube.Kind, obj *unstructured.Unstructured, o kube.PatchOptions) (*unstructured.Unstructured, error) {
	return c.Cluster.Apply(c.about(ctx, obj), kind, obj, o)
}

func (c *traced) Delete(ctx context.Context, kind kube.Kind, live *unstructured.Unstructured, o kube.DeleteOptions) error {
	return c.Cluster.Delete(c.about(ctx, live), kind, live, o)
}

func (c *traced) Migrate(ctx context.Context, kind kube.Kind, live *unstructured.Unstructured, migration applyset.OwnershipMigration, manager string) error {
	return c.Cluster.Migrate(c.about(ctx, live), kind, live, migration, manager)
}

func (c *traced) Join(ctx context.Context, kind kube.Kind, live *unstructured.Unstructured, set string, entries []metav1.ManagedFieldsEntry, manager string) (*unstructured.Unstructured, error) {
	return c.Cluster.Join(c.about(ctx, live), kind, live, set, entries, manager)
}

func (c *traced) Claim(ctx context.Context, kind kube.Kind, live *unstructured.Unstructured, fields *fieldpath.Set, manager string) (*unstructured.Unstructured, error) {
	return c.Cluster.Claim(c.about(ctx, live), kind, live, fields, manager)
}

// Transport returns a RoundTripper that makes each request a span, up to the headers of
// its answer, and passes it on to the API server in the header traceparent.
func (t *Trace) Transport(next http.RoundTripper) http.RoundTripper {
	if t == nil {
		return next
	}
	return &transport{next, t}
}

type transport struct {
	next http.RoundTripper
	t    *Trace
}

// WrappedRoundTripper implements utilnet.RoundTripperWrapper.
func (r *transport) WrappedRoundTripper() http.RoundTripper { return r.next }

// RoundTrip implements http.RoundTripper.
func (r *transport) RoundTrip(request *http.Request) (*http.Response, error) {
	within := request.Context()
	if !trace.SpanContextFromContext(within).IsValid() {
		within = trace.ContextWithSpan(within, r.t.current())
	}
	address := *request.URL
	address.RawQuery = ""
	ctx, span := r.t.tracer.Start(within, request.Method+" "+address.Path, trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(
		attribute.String("http.request.method", request.Method), attribute.String("url.full", address.Redacted()),
		attribute.String("server.address", request.URL.Hostname())))
	defer span.End()
	request = request.Clone(request.Context())
	propagation.TraceContext{}.Inject(ctx, propagation.HeaderCarrier(request.Header))
	response, err := r.next.RoundTrip(request)
	switch {
	case err != nil:
		span.SetStatus(codes.Error, err.Error())
	case response.StatusCode >= http.StatusBadRequest:
		span.SetStatus(codes.Error, response.Status)
	}
	if response != nil {
		span.SetAttributes(attribute.Int("http.response.status_code", response.StatusCode))
	}
	return response, err
}

// current returns the span of the open wave, or of the run without one.
func (t *Trace) current() trace.Span {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.open != nil {
		return t.open
	}
	return t.base
}
