package telemetry

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

	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
)

// The purpose of a request is known where the run makes a call, and the number
// of requests where they are sent. The context connects the two.

// purpose is the purpose of a request.
type purpose struct{ phase, kind, verb string }

type purposeKey struct{}

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
	return &counted{cluster, m, new(sync.Map)}
}

type counted struct {
	kube.Cluster
	m     *Metrics
	kinds *sync.Map // schema.GroupVersionResource to the kind's name
}

// Fenced implements kube.Cluster.
func (c *counted) Fenced(fence kube.Fence) kube.Cluster {
	return &counted{c.Cluster.Fenced(fence), c.m, c.kinds}
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

// of returns the purpose of requests about an object.
func (c *counted) of(obj *unstructured.Unstructured, verb string) purpose {
	id := kube.Meta(obj).ID
	phase := c.m.phases[id]
	if phase == "" {
		phase = c.m.current()
	}
	return purpose{phase, id.GroupKind(), verb}
}

func (p purpose) in(ctx context.Context) context.Context {
	return context.WithValue(ctx, purposeKey{}, p)
}

// about returns a context for requests about a kind, in the current phase.
func (c *counted) about(ctx context.Context, kind, verb string) context.Context {
	return purpose{c.m.current(), kind, verb}.in(ctx)
}

// attempt counts an attempt to change an object: as a retry if the last one failed, as
// an error if this one does.
func (c *counted) attempt(ctx context.Context, obj *unstructured.Unstructured, verb string, send func(context.Context) error) error {
	id, p := kube.Meta(obj).ID, c.of(obj, verb)
	if _, again := c.m.failed.LoadAndDelete(id); again {
		c.m.retried.WithLabelValues(p.phase, p.kind).Inc()
	}
	err := send(p.in(ctx))
	if err != nil && (verb != "delete" || !apierrors.IsNotFound(err)) { // not found is a deletion's goal
		c.m.requestErrors.WithLabelValues(p.phase, p.kind, reason(err)).Inc()
		c.m.failed.Store(id, true)
	}
	return err
}

func (c *counted) Apply(ctx context.Context, kind kube.Kind, obj *unstructured.Unstructured, o kube.PatchOptions) (live *unstructured.Unstructured, err error) {
	err = c.attempt(ctx, obj, "apply", func(ctx context.Context) (err error) {
		live, err = c.Cluster.Apply(ctx, kind, obj, o)
		return err
	})
	return live, err
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
	return c.attempt(ctx, live, "delete", func(ctx context.Context) error { return c.Cluster.Delete(ctx, kind, live, o) })
}

func (c *counted) Migrate(ctx context.Context, kind kube.Kind, live *unstructured.Unstructured, migration applyset.OwnershipMigration, manager string) error {
	return c.Cluster.Migrate(c.of(live, "migrate").in(ctx), kind, live, migration, manager)
}

func (c *counted) Join(ctx context.Context, kind kube.Kind, live *unstructured.Unstructured, set string, entries []metav1.ManagedFieldsEntry, manager string) (*unstructured.Unstructured, error) {
	return c.Cluster.Join(c.of(live, "migrate").in(ctx), kind, live, set, entries, manager)
}

func (c *counted) Claim(ctx context.Context, kind kube.Kind, live *unstructured.Unstructured, fields *fieldpath.Set, manager string) (*unstructured.Unstructured, error) {
	return c.Cluster.Claim(c.of(live, "migrate").in(ctx), kind, live, fields, manager)
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
