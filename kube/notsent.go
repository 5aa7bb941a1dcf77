package kube

import (
	"errors"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
)

// ErrFenced is wrapped by the cause of a context that ends a run at once
// because it may no longer write. Nothing is sent after that, neither queued
// requests nor retries.
var ErrFenced = errors.New("this run may no longer write")

// NotSentError is the error of a request that writes and got no connection:
// the name did not resolve, there was no route, or the TLS handshake failed.
// The API server received nothing of it. The error of any other request does
// not say whether it was carried out.
type NotSentError struct{ Err error }

// Error returns the text of the wrapped error.
func (e NotSentError) Error() string { return e.Err.Error() }

// Unwrap returns the wrapped error.
func (e NotSentError) Unwrap() error { return e.Err }

// Timeout reports whether the wrapped error is a timeout. With Temporary it
// implements net.Error.
func (e NotSentError) Timeout() bool {
	var cause net.Error
	return errors.As(e.Err, &cause) && cause.Timeout()
}

// Temporary is true: nothing was sent, and the request can be sent again.
func (e NotSentError) Temporary() bool { return true }

// LateError is the error of a request that passed its fence and was answered
// when the fence refused already. It wraps the fence's error. The process may
// have been suspended between the check and the system call that sends, so it is
// not known whether the API server carried the request out in time.
type LateError struct{ Err error }

// Error names the possible damage and the remedy.
func (e LateError) Error() string {
	return "it was sent, and answered after the lock was lost: it may have changed what another run applied; apply that run's manifests again"
}

// Unwrap returns the error of the fence.
func (e LateError) Unwrap() error { return e.Err }

// Late returns the LateError in an error's chain, without the errors that
// wrap it; nil when there is none.
func Late(err error) error {
	if late := (LateError{}); errors.As(err, &late) {
		return late
	}
	return nil
}

// IsNotSent reports whether nothing of a failed request was sent: its error is a
// NotSentError, or a fence refused it.
func IsNotSent(err error) bool {
	var unconnected NotSentError
	return errors.Is(err, ErrFenced) && Late(err) == nil || errors.As(err, &unconnected)
}

// sendMarked sends a request that writes, and marks its error when nothing
// was sent. net/http reports each connection that it got before it writes to
// it.
func sendMarked(request *http.Request, send func(*http.Request) (*http.Response, error)) (*http.Response, error) {
	var connected atomic.Bool
	ctx := httptrace.WithClientTrace(request.Context(), &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) { connected.Store(true) },
	})
	response, err := send(request.WithContext(ctx))
	if err != nil && !connected.Load() {
		err = NotSentError{err}
	}
	return response, err
}
