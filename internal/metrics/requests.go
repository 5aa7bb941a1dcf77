package metrics

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
)

// The purpose of a request is known where the run makes a call, and the number
// of requests where they are sent. The context connects the two.

// purpose is the purpose of a request.
type purpose struct{ phase, kind, verb string }

type purposeKey struct{}

// retries records resources whose last attempt failed.
type retries struct {
	mu     sync.Mutex
	failed map[object.ID]bool
}

// Transport returns a RoundTripper that counts every request.
func (m *Metrics) Transport(next http.RoundTripper) http.RoundTripper {
	return &counter{next, m}
}

type counter struct {
	next http.RoundTripper
	m    *Metrics
}

func (c *counter) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := c.next.RoundTrip(r)
	code := 0
	if response != nil {
		code = response.StatusCode
	}
	p := c.m.purposeOf(r)
	c.m.requests.WithLabelValues(p.phase, p.kind, p.verb, label(code)).Inc()
	return response, err
}

// WrappedRoundTripper implements utilnet.RoundTripperWrapper.
func (c *counter) WrappedRoundTripper() http.RoundTripper { return c.next }

func (m *Metrics) purposeOf(r *http.Request) purpose {
	p, known := r.Context().Value(purposeKey{}).(purpose)
	switch {
	case !known:
		return purpose{phase: m.current(), verb: strings.ToLower(r.Method)}
	case p.verb == "watch" && r.URL.Query().Get("watch") == "":
		p.verb = "list"
	}
	return p
}

func (m *Metrics) current() string {
	phase, _ := m.phase.Load().(string)
	return phase
}

// Cluster returns a cluster whose requests are counted by purpose.
func (m *Metrics) Cluster(cluster kube.Cluster) kube.Cluster {
	return &counted{Cluster: cluster, m: m}
}

type counted struct {
	kube.Cluster
	m     *Metrics
	kinds sync.Map // schema.GroupVersionResource to the kind's name
}

// Kind remembers kind names for calls in which only the resource is known.
func (c *counted) Kind(gvk schema.GroupVersionKind) (kube.Kind, bool) {
	kind, served := c.Cluster.Kind(gvk)
	if served {
		c.kinds.Store(kind.Resource, object.ID{Group: gvk.Group, Kind: gvk.Kind}.GroupKind())
	}
	return kind, served
}

// kindOf returns the name of a kind, or of its resource if the kind is unknown.
func (c *counted) kindOf(kind kube.Kind) string {
	if name, ok := c.kinds.Load(kind.Resource); ok {
		return fmt.Sprint(name)
	}
	return kind.Resource.GroupResource().String()
}

// of returns a context for requests about an object.
func (c *counted) of(ctx context.Context, obj *unstructured.Unstructured, verb string) context.Context {
	id := apply.Meta(obj).ID
	phase := c.m.phases[id]
	if phase == "" {
		phase = c.m.current()
	}
	return context.WithValue(ctx, purposeKey{}, purpose{phase, id.GroupKind(), verb})
}

// about returns a context for requests about a kind, in the current phase.
func (c *counted) about(ctx context.Context, kind, verb string) context.Context {
	return context.WithValue(ctx, purposeKey{}, purpose{c.m.current(), kind, verb})
}

func (c *counted) Apply(ctx context.Context, kind kube.Kind, obj *unstructured.Unstructured, o kube.PatchOptions) (*unstructured.Unstructured, error) {
	ctx = c.of(ctx, obj, "apply")
	c.beforeAttempt(ctx, obj)
	live, err := c.Cluster.Apply(ctx, kind, obj, o)
	c.attempted(ctx, obj, err)
	return live, err
}

// beforeAttempt counts the attempt if it is a retry.
func (c *counted) beforeAttempt(ctx context.Context, obj *unstructured.Unstructured) {
	if p, _ := ctx.Value(purposeKey{}).(purpose); c.m.again(apply.Meta(obj).ID) {
		c.m.retried.WithLabelValues(p.phase, p.kind).Inc()
	}
}

// attempted counts the attempt if it failed.
func (c *counted) attempted(ctx context.Context, obj *unstructured.Unstructured, err error) {
	if p, _ := ctx.Value(purposeKey{}).(purpose); err != nil {
		c.m.requestErrors.WithLabelValues(p.phase, p.kind, reason(err)).Inc()
	}
	c.m.note(apply.Meta(obj).ID, err != nil)
}

// reset clears the record of failed attempts.
func (r *retries) reset() {
	r.mu.Lock()
	defer r.mu.Unlock()
	clear(r.failed)
}

// again reports whether the last attempt to apply a resource failed.
func (r *retries) again(id object.ID) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failed[id]
}

func (r *retries) note(id object.ID, failed bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failed[id] = failed
}

// reason returns the API server's reason of an error; Connection if it has
// none.
func reason(err error) string {
	switch r := apierrors.ReasonForError(err); {
	case r != metav1.StatusReasonUnknown:
		return string(r)
	case apierrors.IsUnexpectedServerError(err):
		return "UnexpectedAnswer"
	}
	return "Connection"
}

func (c *counted) Delete(ctx context.Context, kind kube.Kind, live *unstructured.Unstructured, o kube.DeleteOptions) error {
	ctx = c.of(ctx, live, "delete")
	c.beforeAttempt(ctx, live)
	err := c.Cluster.Delete(ctx, kind, live, o)
	if apierrors.IsNotFound(err) { // the intended result
		c.attempted(ctx, live, nil)
	} else {
		c.attempted(ctx, live, err)
	}
	return err
}

func (c *counted) Migrate(ctx context.Context, kind kube.Kind, live *unstructured.Unstructured, predecessors []string, manager string) error {
	return c.Cluster.Migrate(c.of(ctx, live, "migrate"), kind, live, predecessors, manager)
}

func (c *counted) Claim(ctx context.Context, kind kube.Kind, live *unstructured.Unstructured, fields *fieldpath.Set, manager string) (*unstructured.Unstructured, error) {
	return c.Cluster.Claim(c.of(ctx, live, "migrate"), kind, live, fields, manager)
}

func (c *counted) List(ctx context.Context, kind kube.Kind, namespace string, query kube.Query) ([]*unstructured.Unstructured, error) {
	return c.Cluster.List(c.about(ctx, c.kindOf(kind), "list"), kind, namespace, query)
}

func (c *counted) Logs(ctx context.Context, pod object.ID, container string, o kube.LogOptions) ([]string, error) {
	return c.Cluster.Logs(c.about(ctx, pod.GroupKind(), "logs"), pod, container, o)
}

func (c *counted) HasEndpoints(ctx context.Context, service object.ID) (bool, error) {
	return c.Cluster.HasEndpoints(c.about(ctx, "EndpointSlice.discovery.k8s.io", "list"), service)
}

func (c *counted) Refresh(ctx context.Context, versions ...schema.GroupVersion) error {
	return c.Cluster.Refresh(c.about(ctx, "", "discover"), versions...)
}

func (c *counted) Get(ctx context.Context, kind kube.Kind, namespace, name string) (*unstructured.Unstructured, error) {
	return c.Cluster.Get(c.about(ctx, c.kindOf(kind), "get"), kind, namespace, name)
}

func (c *counted) Watch(ctx context.Context, kind kube.Kind, namespace string, query kube.Query, changed func(kube.WatchEvent)) {
	c.Cluster.Watch(c.about(ctx, c.kindOf(kind), "watch"), kind, namespace, query, changed)
}
