package kube

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"
)

// A write that waits for its connection when the lock is lost is not sent,
// over HTTP/1.1 and HTTP/2, whatever its verb. A read is.
func TestAFenceIsCheckedRightBeforeTheSend(t *testing.T) {
	for name, http2 := range map[string]bool{"HTTP/1.1": false, "HTTP/2": true} {
		t.Run(name, func(t *testing.T) {
			var arrived atomic.Int32
			server := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				if _, err := io.ReadAll(r.Body); err == nil {
					arrived.Add(1)
				}
			}))
			server.EnableHTTP2 = http2
			server.StartTLS()
			defer server.Close()
			dialled := make(chan struct{}, 10)
			goOn := make(chan struct{})
			config := &rest.Config{Host: server.URL, TLSClientConfig: rest.TLSClientConfig{Insecure: true}}
			config.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
				dialled <- struct{}{}
				<-goOn
				return (&net.Dialer{}).DialContext(ctx, network, address)
			}
			connection, err := connect(config)
			require.NoError(t, err)
			var lost atomic.Bool
			fence := func(context.Context) error {
				if lost.Load() {
					return errors.Join(errors.New("stolen"), ErrFenced)
				}
				return nil
			}
			client := &http.Client{Transport: connection.fenced(fence)}
			var sending sync.WaitGroup
			send := func(method string) {
				sending.Go(func() {
					request, err := http.NewRequestWithContext(t.Context(), method, server.URL, strings.NewReader("body"))
					if err != nil {
						panic(err)
					}
					response, err := client.Do(request)
					if err == nil {
						_ = response.Body.Close()
					}
					if !errors.Is(err, ErrFenced) {
						t.Errorf("%s: %v", method, err)
					}
				})
			}
			for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
				send(method)
			}
			<-dialled // they passed the transport, and wait for a connection
			time.Sleep(50 * time.Millisecond)
			lost.Store(true)
			close(goOn)
			send(http.MethodPatch) // the transport refuses it
			sending.Wait()
			require.Zero(t, arrived.Load())
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, nil)
			require.NoError(t, err)
			response, err := client.Do(request)
			require.NoError(t, err)
			_ = response.Body.Close()
			lost.Store(false)
			request, err = http.NewRequestWithContext(t.Context(), http.MethodPatch, server.URL, strings.NewReader("body"))
			require.NoError(t, err)
			response, err = client.Do(request)
			require.NoError(t, err)
			_ = response.Body.Close()
			require.Equal(t, int32(2), arrived.Load())
		})
	}
}

// fencedClient returns a client of a server whose requests that write pass a fence.
func fencedClient(t *testing.T, server string, fence Fence) *http.Client {
	t.Helper()
	connection, err := connect(&rest.Config{Host: server})
	require.NoError(t, err)
	return &http.Client{Transport: connection.fenced(fence)}
}

// A write that is answered when the fence refuses already may have been late,
// and its error says so. A read is answered as always.
func TestAnAnswerAfterTheLockWasLost(t *testing.T) {
	var lost atomic.Bool
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { lost.Store(true) }))
	defer server.Close()
	stolen := errors.Join(errors.New("stolen"), ErrFenced)
	client := fencedClient(t, server.URL, func(context.Context) error {
		if lost.Load() {
			return stolen
		}
		return nil
	})
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPatch, server.URL, strings.NewReader("body"))
	require.NoError(t, err)
	_, err = client.Do(request) //nolint:bodyclose // there is none
	require.ErrorIs(t, err, ErrFenced)
	require.Equal(t, LateError{stolen}, Late(err))
	require.False(t, IsNotSent(err), "it was sent")
	_, err = client.Do(request.Clone(t.Context())) //nolint:bodyclose // there is none
	require.ErrorIs(t, err, ErrFenced)
	require.NoError(t, Late(err))
	require.True(t, IsNotSent(err), "the transport refused it")
	request, err = http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, nil)
	require.NoError(t, err)
	response, err := client.Do(request)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
}

// A refused request and a dry run changed nothing, however late.
func TestARefusalIsNotLate(t *testing.T) {
	for name, c := range map[string]struct {
		path string
		code int
	}{
		"conflict of the precondition": {"/", http.StatusConflict}, "forbidden": {"/", http.StatusForbidden},
		"throttled": {"/", http.StatusTooManyRequests}, "dry run": {"/?dryRun=All", http.StatusOK},
	} {
		t.Run(name, func(t *testing.T) {
			var lost atomic.Bool
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				lost.Store(true)
				w.WriteHeader(c.code)
			}))
			defer server.Close()
			client := fencedClient(t, server.URL, func(context.Context) error {
				if lost.Load() {
					return errors.Join(errors.New("stolen"), ErrFenced)
				}
				return nil
			})
			request, err := http.NewRequestWithContext(t.Context(), http.MethodPatch, server.URL+c.path, strings.NewReader("body"))
			require.NoError(t, err)
			_, err = client.Do(request) //nolint:bodyclose // there is none
			require.ErrorIs(t, err, ErrFenced)
			require.NoError(t, Late(err))
			require.True(t, IsNotSent(err), "it had no effect")
		})
	}
}

// Requests with a connection of their own do not queue behind others.
func TestAConnectionOfItsOwn(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()
	config := &rest.Config{Host: server.URL, TLSClientConfig: rest.TLSClientConfig{Insecure: true}}
	connection, err := connect(config)
	require.NoError(t, err)
	client := &http.Client{Transport: connection.fenced(func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() })}
	waiting, giveUp := context.WithCancel(t.Context())
	var held sync.WaitGroup
	held.Go(func() {
		request, _ := http.NewRequestWithContext(waiting, http.MethodPatch, server.URL, strings.NewReader("body"))
		_, err := client.Do(request) //nolint:bodyclose // there is none
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
	})
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPut, server.URL, strings.NewReader("renewal"))
	require.NoError(t, err)
	response, err := (&http.Client{Transport: connection.own}).Do(request)
	require.NoError(t, err)
	_ = response.Body.Close()
	giveUp()
	held.Wait()
}

// Before a write to a connection, each fence of the requests being sent must allow it: once, also
// for many requests.
func TestFencesCheck(t *testing.T) {
	asked := 0
	allows := Fence(func(context.Context) error { asked++; return nil })
	refuses := Fence(func(context.Context) error { return ErrFenced })
	request := httptest.NewRequestWithContext(t.Context(), http.MethodPatch, "/", nil)
	var sending fences
	for range 3 {
		_, end := sending.begin(request, &allows)
		defer end()
	}
	require.NoError(t, sending.check())
	require.Equal(t, 1, asked)
	_, end := sending.begin(request, &refuses)
	for range 20 { // in any order
		require.ErrorIs(t, sending.check(), ErrFenced)
	}
	end()
	require.NoError(t, sending.check())
}
