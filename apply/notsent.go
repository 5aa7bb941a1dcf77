package apply

import (
	"errors"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
)

// notSentError is the error of a request that writes and never had a connection to be
// sent on: no name, no route, no answer to the TLS handshake. The API server has nothing
// of it. The error of any other request does not say whether it was carried out.
type notSentError struct{ error }

func (e notSentError) Unwrap() error { return e.error }

// Timeout and Temporary make it a net.Error, as the error in it may be.
func (e notSentError) Timeout() bool {
	var cause net.Error
	return errors.As(e.error, &cause) && cause.Timeout()
}

func (e notSentError) Temporary() bool { return true }

// notSent reports whether nothing of a request that failed was sent.
func notSent(err error) bool {
	var unconnected notSentError
	return errors.Is(err, ErrFenced) || errors.As(err, &unconnected)
}

// whetherSent sends a request that writes. net/http reports each connection that it
// got before it writes to it.
func whetherSent(request *http.Request, send func(*http.Request) (*http.Response, error)) (*http.Response, error) {
	var connected atomic.Bool
	ctx := httptrace.WithClientTrace(request.Context(), &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) { connected.Store(true) },
	})
	response, err := send(request.WithContext(ctx))
	if err != nil && !connected.Load() {
		err = notSentError{err}
	}
	return response, err
}
