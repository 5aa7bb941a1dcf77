package apply

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"
)

// A run that holds a lock may write only while it holds it. That is checked
// where nothing can come between the check and the request but the kernel: when
// the transport gets a request, and again before each write to a connection
// while such a request is being sent. Between the two a request may wait for a
// connection or for a place in one, and the process may be suspended.

// Fence is asked before a request that writes is sent. It returns nil when the
// request may go out. It may wait to find that out, at most as long as ctx
// lasts, and is called by many goroutines at once.
type Fence func(ctx context.Context) error

// ErrFenced is wrapped by the cause of a context that ends a run at once because
// it may no longer write. Nothing is sent after that: neither what waits for a
// worker nor what would be sent again.
var ErrFenced = errors.New("this run may no longer write")

type fenceKey struct{}

// WithFence lets requests that write, with the context that it returns, go out
// only when fence agrees.
func WithFence(ctx context.Context, fence Fence) context.Context {
	return context.WithValue(ctx, fenceKey{}, fence)
}

// MayWrite asks the fence of a context, as the transport of Kubernetes does before
// it sends a request that writes; nil when there is none. Other implementations of
// Cluster ask it themselves.
func MayWrite(ctx context.Context) error {
	if fence, ok := ctx.Value(fenceKey{}).(Fence); ok {
		return fence(ctx)
	}
	return nil
}

// fenceOf is the fence of a request; nil when it only reads, or has none.
func fenceOf(request *http.Request) Fence {
	if !writes(request) {
		return nil
	}
	fence, _ := request.Context().Value(fenceKey{}).(Fence)
	return fence
}

// writes reports whether a request may change something.
func writes(request *http.Request) bool {
	switch request.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions:
		return false
	}
	return true
}

type ownConnectionKey struct{}

// OnOwnConnection gives requests with the context that it returns a connection
// that they share with no others: no queue of other requests delays them, and no
// fence holds it back.
func OnOwnConnection(ctx context.Context) context.Context {
	return context.WithValue(ctx, ownConnectionKey{}, true)
}

// lanes is the transport for requests of both sorts.
type lanes struct{ shared, own http.RoundTripper }

// RoundTrip implements http.RoundTripper. A connection that failed a request which
// has its own is not used again: it may be broken without either end knowing.
func (l lanes) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.Context().Value(ownConnectionKey{}) == nil {
		return l.shared.RoundTrip(request)
	}
	response, err := l.own.RoundTrip(request)
	if err != nil {
		utilnet.CloseIdleConnectionsFor(l.own)
	}
	return response, err
}

// fences are those of the requests that are being sent.
type fences struct {
	mu  sync.Mutex
	now map[*fenced]bool
}

// fenced is one such request.
type fenced struct {
	fence Fence
	ctx   context.Context //nolint:containedctx // the request's: who writes to a connection has none
}

// begin asks the fence of a request, and again before each write to a connection
// until the request was written. The request that it returns is the one to send;
// end is called when there is an answer, or none will come.
func (s *fences) begin(request *http.Request) (_ *http.Request, end func(), err error) {
	fence := fenceOf(request)
	if fence == nil {
		return request, func() {}, nil
	}
	if err := fence(request.Context()); err != nil {
		return nil, nil, err
	}
	f := &fenced{fence, request.Context()}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.now == nil {
		s.now = map[*fenced]bool{}
	}
	s.now[f] = true
	end = func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.now, f)
	}
	return request.WithContext(whenWritten(request.Context(), end)), end, nil
}

// whenWritten calls written when the last byte of a request was written. Over
// HTTP/1.1 net/http reports that too early, before it empties its buffer: there
// the answer is waited for.
func whenWritten(ctx context.Context, written func()) context.Context {
	var multiplexed bool
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(got httptrace.GotConnInfo) {
			conn, secure := got.Conn.(*tls.Conn)
			multiplexed = secure && conn.ConnectionState().NegotiatedProtocol == "h2"
		},
		WroteRequest: func(httptrace.WroteRequestInfo) {
			if multiplexed {
				written()
			}
		},
	})
}

// ask asks the fences of all requests that are being sent.
func (s *fences) ask() error {
	s.mu.Lock()
	all := make([]*fenced, 0, len(s.now))
	for f := range s.now {
		all = append(all, f)
	}
	s.mu.Unlock()
	for _, f := range all {
		if err := f.fence(f.ctx); err != nil {
			return err
		}
	}
	return nil
}

// dialer opens connections as the function that a kubeconfig's client would use
// does, and asks before each write to them.
func (s *fences) dialer(dial func(context.Context, string, string) (net.Conn, error)) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return fencedConn{conn, s}, nil
	}
}

// fencedConn is a connection to which nothing is written when the fence of a
// request that is being sent refuses.
type fencedConn struct {
	net.Conn
	fences *fences
}

func (c fencedConn) Write(b []byte) (int, error) {
	if err := c.fences.ask(); err != nil {
		if !errors.Is(err, ErrFenced) { // a request was given up: the next has another connection
			_ = c.Close()
		} // else answers to what was sent before may still come
		return 0, fmt.Errorf("not sent: %w", err)
	}
	return c.Conn.Write(b)
}

// dial is how client-go opens connections by itself.
func dial() func(context.Context, string, string) (net.Conn, error) {
	return (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}).DialContext
}
