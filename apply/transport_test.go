package apply

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
)

// mute answers nothing: a request to it ends with its context.
type mute struct{}

func (mute) RoundTrip(request *http.Request) (*http.Response, error) {
	<-request.Context().Done()
	return nil, request.Context().Err()
}

// A server that takes requests and never answers does not hold up a run for ever,
// and is one that could not be reached.
func TestSilentServerIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://mute", nil)
		require.NoError(t, err)
		_, err = (&http.Client{Transport: noting{mute{}, &fences{}}}).Do(request)
		require.Equal(t, answerWithin, time.Since(began))
		require.True(t, isConnectionTrouble(err))
		require.ErrorContains(t, unreached(err), "the API server could not be reached: there was no answer for 1m15s; see whether it is up")
	})
}

// Neither does one that does not say what it serves.
func TestSilentDiscoveryIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		_, err := Connect(&rest.Config{Host: "http://mute", Transport: mute{}})
		require.Equal(t, discoverWithin, time.Since(began))
		netErr, ok := errors.AsType[net.Error](err)
		require.True(t, ok && netErr.Timeout(), "%v", err)
	})
}

// slow gives an answer whose text comes long after its beginning, as a watch does.
type slow struct{}

func (slow) RoundTrip(request *http.Request) (*http.Response, error) {
	text, writer := io.Pipe()
	go func() {
		select {
		case <-time.After(10 * answerWithin):
			_, _ = io.Copy(writer, strings.NewReader("late"))
			_ = writer.Close()
		case <-request.Context().Done():
			_ = writer.CloseWithError(request.Context().Err())
		}
	}()
	return &http.Response{StatusCode: http.StatusOK, Body: text}, nil
}

// What has begun to answer may take its time.
func TestSlowAnswerIsRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://slow", nil)
		require.NoError(t, err)
		response, err := (&http.Client{Transport: noting{slow{}, &fences{}}}).Do(request)
		require.NoError(t, err)
		text, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		require.Equal(t, "late", string(text))
		require.NoError(t, response.Body.Close())
	})
}
