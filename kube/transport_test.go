package kube

import (
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"

	"github.com/ordapply/ordapply/internal/kube/fault"
)

// unresponsive answers nothing: a request ends with its context.
type unresponsive struct{}

func (unresponsive) RoundTrip(request *http.Request) (*http.Response, error) {
	<-request.Context().Done()
	return nil, request.Context().Err()
}

// A server that accepts requests and never answers does not block a run
// forever: the error says that it could not be reached.
func TestAServerThatDoesNotAnswerIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://unresponsive", nil)
		require.NoError(t, err)
		_, err = (&http.Client{Transport: attemptTransport{unresponsive{}}}).Do(request)
		require.Equal(t, responseTimeout, time.Since(began))
		require.True(t, fault.IsConnectionError(err))
		require.ErrorContains(t, fault.Unreachable(err), "the API server could not be reached: no answer for 1m15s; check that it is up")
	})
}

// Neither does a server whose discovery does not answer.
func TestDiscoveryThatDoesNotAnswerIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		_, err := Connect(&rest.Config{Host: "http://unresponsive", Transport: unresponsive{}})
		require.Equal(t, discoveryTimeout, time.Since(began))
		netErr, ok := errors.AsType[net.Error](err)
		require.True(t, ok && netErr.Timeout(), "%v", err)
	})
}

// slow sends its body long after the headers, as a watch does.
type slow struct{}

func (slow) RoundTrip(request *http.Request) (*http.Response, error) {
	text, writer := io.Pipe()
	go func() {
		select {
		case <-time.After(10 * responseTimeout):
			_, _ = io.Copy(writer, strings.NewReader("late"))
			_ = writer.Close()
		case <-request.Context().Done():
			_ = writer.CloseWithError(request.Context().Err())
		}
	}()
	return &http.Response{StatusCode: http.StatusOK, Body: text}, nil
}

// The body of a response may take any time.
func TestSlowAnswerIsRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://slow", nil)
		require.NoError(t, err)
		response, err := (&http.Client{Transport: attemptTransport{slow{}}}).Do(request)
		require.NoError(t, err)
		text, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		require.Equal(t, "late", string(text))
		require.NoError(t, response.Body.Close())
	})
}
