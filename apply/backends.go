package apply

import (
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/ordapply/ordapply/internal/kubeerr"
	"github.com/ordapply/ordapply/internal/loop"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
)

// A webhook configuration is ready when its Services have ready endpoints.
// Each Service is read once; one without ready endpoints is watched until it
// has some. All steps that wait for a Service share the read and the watch.

// backend is a Service whose endpoints steps wait for.
type backend struct {
	id      object.ID
	waiters []int
	ready   map[string]bool // by EndpointSlice: whether it has a ready endpoint
	watched bool
	pause   time.Duration // before the next read, where watching is not allowed
	end     func()        // ends the watch
}

// maxBackoff caps the backoff between two reads of something that may not
// be watched and seldom changes.
const maxBackoff = 15 * time.Second

// awaitBackend makes a step wait for the first of the Services that it still
// needs.
func (r *run) awaitBackend(i int) {
	id := r.steps[i].backends[0]
	b := r.backends[id]
	if b == nil {
		b = &backend{id: id, pause: time.Second, end: func() {}}
		r.backends[id] = b
		r.readBackend(b)
	}
	if !slices.Contains(b.waiters, i) {
		b.waiters = append(b.waiters, i)
	}
}

func (r *run) readBackend(b *backend) {
	r.submit(request{op: opEndpoints, step: -1, id: b.id})
}

// handleEndpoints resumes the steps that wait for a Service with a ready
// endpoint. If it has none, its EndpointSlices are watched from now on.
func (r *run) handleEndpoints(answer reply) {
	b := r.backends[answer.id]
	switch {
	case b == nil: // the watch reported it first
	case answer.err == nil && answer.found:
		r.handleBackendReady(b)
	default:
		r.reportBackendUnready(b, answer.err)
		switch {
		case b.watched || apierrors.IsForbidden(answer.err):
			r.readBackendLater(b)
		default:
			b.watched = true
			key := loop.WatchKey{Resource: kube.EndpointSliceKind().Resource, Namespace: b.id.Namespace, Service: b.id.Name}
			b.end = r.StartWatch(r.applier.Cluster, key, kube.EndpointSliceKind(), func(c loop.KeyedWatchEvent) { r.handleEndpointChange(b, c.WatchEvent) })
		}
	}
}

// readBackendLater reads the endpoints again, as long as a step waits for
// them.
func (r *run) readBackendLater(b *backend) {
	r.After(b.pause, func() {
		if !slices.ContainsFunc(b.waiters, func(i int) bool { return r.steps[i].waitsFor(b) }) {
			delete(r.backends, b.id) // a later waiter starts anew
			return
		}
		r.readBackend(b)
	})
	b.pause = min(2*b.pause, maxBackoff)
}

// handleEndpointChange handles a change of a Service's EndpointSlices.
func (r *run) handleEndpointChange(b *backend, c kube.WatchEvent) {
	switch {
	case r.backends[b.id] != b:
		return
	case c.Forbidden != nil:
		r.readBackendLater(b)
		return
	case c.Listed:
		b.ready = nil
	}
	for _, slice := range c.Objects {
		if b.ready == nil {
			b.ready = map[string]bool{}
		}
		b.ready[slice.GetName()] = !c.Deleted && kube.HasReadyEndpoint(slice)
	}
	for _, ready := range b.ready {
		if ready {
			r.handleBackendReady(b)
			return
		}
	}
	r.reportBackendUnready(b, nil)
}

// handleBackendReady resumes the steps that waited for a Service that now has a ready
// endpoint.
func (r *run) handleBackendReady(b *backend) {
	b.end()
	delete(r.backends, b.id)
	for _, i := range b.waiters {
		if s := &r.steps[i]; !s.waitsFor(b) {
			continue
		} else if s.backends = s.backends[1:]; len(s.backends) == 0 {
			r.finishReady(i, "")
		} else {
			r.awaitBackend(i)
		}
	}
}

// reportBackendUnready reports, for the steps that wait for a Service, that it has no
// ready endpoint or why its endpoints cannot be read.
func (r *run) reportBackendUnready(b *backend, err error) {
	detail := b.id.String() + " has no ready endpoint"
	if err != nil {
		detail = "the endpoints of " + b.id.String() + " cannot be read: " + kubeerr.TimeoutInWords(err).Error()
	}
	for _, i := range b.waiters {
		if r.steps[i].waitsFor(b) {
			r.move(i, Waiting, detail)
		}
	}
}

// waitsFor reports whether the step waits for this Service now.
func (s *step) waitsFor(b *backend) bool {
	return s.state == Waiting && len(s.backends) > 0 && s.backends[0] == b.id
}
