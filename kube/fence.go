package kube

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
)

// A run that holds a lock may write only while it holds it. That is checked
// so late that only the kernel comes between the check and the request: when
// the transport gets a request, and again before each write to a connection
// while such a request is being sent. In between, a request may wait for a
// connection or a stream, and the process may be suspended. Between the last
// check and the system call it may be suspended as well: the fence is therefore
// called again for each answer, and a request that may have been late is
// reported as such.

// Fence is called before a request that writes is sent. It returns nil when
// the request may be sent, and an error that wraps ErrFenced when nothing may
// be written any longer. It may block to find out, no longer than ctx lasts,
// and is called by many goroutines at once.
type Fence func(ctx context.Context) error

// fencedTransport sends requests that write only while a fence allows it.
type fencedTransport struct {
	next    http.RoundTripper
	fence   *Fence
	sending *fences
}

// RoundTrip implements http.RoundTripper.
func (t fencedTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	if !writes(request) {
		return t.next.RoundTrip(request)
	}
	if err := (*t.fence)(request.Context()); err != nil {
		return nil, err
	}
	admitted, end := t.sending.begin(request, t.fence)
	response, err := t.next.RoundTrip(admitted)
	end()
	if err != nil {
		return nil, err
	}
	return t.ifStillAllowed(request, response)
}

// WrappedRoundTripper implements client-go's RoundTripperWrapper.
func (t fencedTransport) WrappedRoundTripper() http.RoundTripper { return t.next }

// writes reports whether a request may change something.
func writes(request *http.Request) bool {
	switch request.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions:
		return false
	}
	return true
}

// fences are the fences of requests being sent.
type fences struct {
	mu  sync.Mutex
	now map[*fenced]bool
}

// fenced is a request that is being sent.
type fenced struct {
	fence *Fence          // of its transport: requests of the same transport share it
	ctx   context.Context //nolint:containedctx // the request's: a write to a connection has none
}

// begin makes each write to a connection call the fence of a request that is being sent,
// until the request was written. The returned request is the one to send; end must be
// called when there is an answer, or none will come.
func (s *fences) begin(request *http.Request, fence *Fence) (_ *http.Request, end func()) {
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
	return request.WithContext(whenWritten(request.Context(), end)), end
}

// whenWritten calls written when the last byte of a request was written. Over
// HTTP/1.1 net/http reports that too early, before it flushes its buffer, so
// written is not called there and the request counts as being sent until its
// answer.
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

// lateWait is how long an answer that came is held back until it is known whether
// it came in time.
const lateWait = 5 * time.Second

// ifStillAllowed returns the response to a request unless its fence is known to
// refuse by now. The error is a LateError if the request may have changed
// something.
func (t fencedTransport) ifStillAllowed(request *http.Request, response *http.Response) (*http.Response, error) {
	ctx, cancel := context.WithTimeout(request.Context(), lateWait)
	defer cancel()
	err := (*t.fence)(ctx)
	if !errors.Is(err, ErrFenced) {
		return response, nil
	}
	_ = response.Body.Close()
	refused := response.StatusCode >= 400 && response.StatusCode < 500
	if refused || request.URL.Query().Get("dryRun") == "All" {
		return nil, err
	}
	return nil, LateError{err}
}

// check calls the fences of all requests that are being sent, each one until it allows one of
// its requests: then it allows them all.
func (s *fences) check() error {
	s.mu.Lock()
	all := make([]*fenced, 0, len(s.now))
	for f := range s.now {
		all = append(all, f)
	}
	s.mu.Unlock()
	var allows *Fence
	for _, f := range all {
		if f.fence == allows {
			continue
		}
		if err := (*f.fence)(f.ctx); err != nil {
			return err
		}
		allows = f.fence
	}
	return nil
}

// dialer wraps a dial function so that the fences are called before each
// write to the connection.
func (s *fences) dialer(dial func(context.Context, string, string) (net.Conn, error)) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return fencedConn{conn, s}, nil
	}
}

// fencedConn is a connection that refuses writes when the fence of a request
// that is being sent refuses.
type fencedConn struct {
	net.Conn
	fences *fences
}

func (c fencedConn) Write(b []byte) (int, error) {
	if err := c.fences.check(); err != nil {
		if !errors.Is(err, ErrFenced) { // a request was abandoned: the next uses another connection
			_ = c.Close()
		} // else answers to earlier requests may still come
		return 0, fmt.Errorf("not sent: %w", err)
	}
	return c.Conn.Write(b)
}

// dial returns the function with which client-go opens connections by
// default.
func dial() func(context.Context, string, string) (net.Conn, error) {
	return (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}).DialContext
}
