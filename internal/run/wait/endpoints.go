package wait

import (
	"context"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/ordapply/ordapply/internal/kube/fault"
	"github.com/ordapply/ordapply/internal/run/loop"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
)

// EndpointRun is the run whose steps wait for Services.
type EndpointRun struct {
	WaitsFor  func(step int, service object.ID) bool // reports whether a step waits for this Service now
	OnReady   func(step int)                         // the Service that the step waits for has a ready endpoint
	OnUnready func(step int, detail string)          // it has none, or its endpoints cannot be read
}

// EndpointWaiter waits for the endpoints of Services.
type EndpointWaiter struct {
	run      EndpointRun
	loop     *loop.Loop
	cluster  kube.Cluster
	services map[object.ID]*service
}

// service is a Service whose endpoints steps wait for.
type service struct {
	id      object.ID
	waiters []int
	ready   map[string]bool // by EndpointSlice: whether it has a ready endpoint
	watched bool
	pause   time.Duration // before the next read, where watching is not allowed
	end     func()        // ends the watch
}

// NewEndpointWaiter returns a Waiter for the steps of a run.
func NewEndpointWaiter(l *loop.Loop, cluster kube.Cluster, run EndpointRun) *EndpointWaiter {
	return &EndpointWaiter{run: run, loop: l, cluster: cluster, services: map[object.ID]*service{}}
}

// Await makes a step wait for a Service.
func (w *EndpointWaiter) Await(step int, id object.ID) {
	s := w.services[id]
	if s == nil {
		s = &service{id: id, pause: time.Second, end: func() {}}
		w.services[id] = s
		w.read(s)
	}
	if !slices.Contains(s.waiters, step) {
		s.waiters = append(s.waiters, step)
	}
}

func (w *EndpointWaiter) read(s *service) {
	request := func(ctx context.Context) (bool, error) { return w.cluster.HasEndpoints(ctx, s.id) }
	loop.Ask(w.loop, request, func(ready bool, err error) { w.handleRead(s.id, ready, err) })
}

// handleRead resumes the steps that wait for a Service with a ready
// endpoint. If it has none, its EndpointSlices are watched from now on.
func (w *EndpointWaiter) handleRead(id object.ID, ready bool, err error) {
	s := w.services[id]
	switch {
	case s == nil: // the watch reported it first
	case err == nil && ready:
		w.handleReady(s)
	default:
		w.reportUnready(s, err)
		if s.watched || apierrors.IsForbidden(err) {
			w.readLater(s)
			return
		}
		s.watched = true
		key := loop.WatchKey{Resource: kube.EndpointSliceKind().Resource, Namespace: id.Namespace, Service: id.Name}
		s.end = w.loop.StartWatch(w.cluster, key, kube.EndpointSliceKind(), func(c loop.KeyedWatchEvent) { w.handleChange(s, c.WatchEvent) })
	}
}

// readLater reads the endpoints again, as long as a step waits for
// them.
func (w *EndpointWaiter) readLater(s *service) {
	w.loop.After(s.pause, func() {
		if !slices.ContainsFunc(s.waiters, func(i int) bool { return w.run.WaitsFor(i, s.id) }) {
			delete(w.services, s.id) // a later waiter starts again
			return
		}
		w.read(s)
	})
	s.pause = min(2*s.pause, loop.MaxBackoff)
}

// handleChange handles a change of a Service's EndpointSlices.
func (w *EndpointWaiter) handleChange(s *service, c kube.WatchEvent) {
	switch {
	case w.services[s.id] != s:
		return
	case c.Forbidden != nil:
		w.readLater(s)
		return
	case c.Listed:
		s.ready = nil
	}
	for _, slice := range c.Objects {
		if s.ready == nil {
			s.ready = map[string]bool{}
		}
		s.ready[slice.GetName()] = !c.Deleted && kube.HasReadyEndpoint(slice)
	}
	for _, ready := range s.ready {
		if ready {
			w.handleReady(s)
			return
		}
	}
	w.reportUnready(s, nil)
}

// handleReady resumes the steps that waited for a Service that now has a ready
// endpoint.
func (w *EndpointWaiter) handleReady(s *service) {
	s.end()
	delete(w.services, s.id)
	for _, i := range s.waiters {
		if w.run.WaitsFor(i, s.id) {
			w.run.OnReady(i)
		}
	}
}

// reportUnready reports, for the steps that wait for a Service, that it has no
// ready endpoint or why its endpoints cannot be read.
func (w *EndpointWaiter) reportUnready(s *service, err error) {
	detail := s.id.String() + " has no ready endpoint"
	if err != nil {
		detail = "the endpoints of " + s.id.String() + " cannot be read: " + fault.TimeoutInWords(err).Error()
	}
	for _, i := range s.waiters {
		if w.run.WaitsFor(i, s.id) {
			w.run.OnUnready(i, detail)
		}
	}
}
