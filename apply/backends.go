package apply

import (
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/object"
)

// A webhook configuration is ready when its Services have ready endpoints. Each
// Service is looked at once, and one that has none is watched until it has. All
// who wait for one share that.

// backend is a Service whose endpoints steps wait for.
type backend struct {
	id      object.ID
	waiters []int
	ready   map[string]bool // by EndpointSlice: whether it holds a ready endpoint
	watched bool
	pause   time.Duration // before the next look, where it may not be watched
	end     func()        // of the watch
}

// longestPause is up to what the pauses double between two looks at what may
// not be watched, and seldom changes.
const longestPause = 15 * time.Second

// endpointSlices is the kind that tells of a Service's endpoints.
func endpointSlices() Kind {
	return Kind{Resource: schema.GroupVersionResource{Group: "discovery.k8s.io", Version: "v1", Resource: "endpointslices"}, Namespaced: true}
}

// awaitBackend lets a step wait for the first Service that it still needs.
func (r *run) awaitBackend(i int) {
	id := r.steps[i].backends[0]
	b := r.backends[id]
	if b == nil {
		b = &backend{id: id, pause: time.Second, end: func() {}}
		r.backends[id] = b
		r.askBackend(b)
	}
	if !slices.Contains(b.waiters, i) {
		b.waiters = append(b.waiters, i)
	}
}

func (r *run) askBackend(b *backend) {
	r.hand(request{op: opEndpoints, step: -1, id: b.id})
}

// foundEndpoints goes on with who waits for a Service that has a ready
// endpoint; else its endpoints are watched from now on.
func (r *run) foundEndpoints(answer reply) {
	b := r.backends[answer.id]
	switch {
	case b == nil: // a watch was faster
	case answer.err == nil && answer.found:
		r.backed(b)
	default:
		r.unbacked(b, answer.err)
		switch {
		case b.watched || apierrors.IsForbidden(answer.err):
			r.askBackendLater(b)
		default:
			b.watched = true
			key := watchKey{resource: endpointSlices().Resource, namespace: b.id.Namespace, service: b.id.Name}
			b.end = r.follow(r.a.Cluster, key, endpointSlices(), func(c sight) { r.seeEndpoints(b, c.Change) })
		}
	}
}

// askBackendLater looks again, for as long as somebody waits for it.
func (r *run) askBackendLater(b *backend) {
	r.after(b.pause, func() {
		if !slices.ContainsFunc(b.waiters, func(i int) bool { return r.steps[i].waitsFor(b) }) {
			delete(r.backends, b.id) // who waits for it later begins anew
			return
		}
		r.askBackend(b)
	})
	b.pause = min(2*b.pause, longestPause)
}

// seeEndpoints takes a change of a Service's EndpointSlices.
func (r *run) seeEndpoints(b *backend, c Change) {
	switch {
	case r.backends[b.id] != b:
		return
	case c.Forbidden != nil:
		r.askBackendLater(b)
		return
	case c.Listed:
		b.ready = nil
	}
	for _, slice := range c.Objects {
		if b.ready == nil {
			b.ready = map[string]bool{}
		}
		b.ready[slice.GetName()] = !c.Deleted && hasReadyEndpoint(slice)
	}
	for _, ready := range b.ready {
		if ready {
			r.backed(b)
			return
		}
	}
	r.unbacked(b, nil)
}

// backed goes on with who waited for a Service that has a ready endpoint now.
func (r *run) backed(b *backend) {
	b.end()
	delete(r.backends, b.id)
	for _, i := range b.waiters {
		if s := &r.steps[i]; !s.waitsFor(b) {
			continue
		} else if s.backends = s.backends[1:]; len(s.backends) == 0 {
			r.ready(i, "")
		} else {
			r.awaitBackend(i)
		}
	}
}

// unbacked says of who waits for a Service that it has no ready endpoint, or
// why nobody knows.
func (r *run) unbacked(b *backend, err error) {
	detail := b.id.String() + " has no ready endpoint"
	if err != nil {
		detail = "the endpoints of " + b.id.String() + " cannot be read: " + inWords(err).Error()
	}
	for _, i := range b.waiters {
		if r.steps[i].waitsFor(b) {
			r.move(i, Waiting, detail)
		}
	}
}

// waitsFor tells whether a Service is what a step waits for now.
func (s *step) waitsFor(b *backend) bool {
	return s.state == Waiting && len(s.backends) > 0 && s.backends[0] == b.id
}

// hasReadyEndpoint tells whether an EndpointSlice holds one. Who does not say
// is ready.
func hasReadyEndpoint(slice *unstructured.Unstructured) bool {
	endpoints, _, _ := unstructured.NestedSlice(slice.Object, "endpoints")
	for _, e := range endpoints {
		endpoint, _ := e.(map[string]any)
		ready, known, _ := unstructured.NestedBool(endpoint, "conditions", "ready")
		if ready || !known && endpoint != nil {
			return true
		}
	}
	return false
}
