package kube

import (
	"context"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"
)

// down answers discovery, and counts and refuses all other requests.
type down struct{ refused int }

func (d *down) RoundTrip(request *http.Request) (*http.Response, error) {
	if strings.Contains(request.URL.Path, "configmaps") {
		d.refused++
		return nil, syscall.ECONNREFUSED
	}
	return &http.Response{
		StatusCode: http.StatusOK, Request: request, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(strings.NewReader("{}")),
	}, nil
}

// Each attempt of a watch that cannot be reached is one retry.
func TestAWatchReportsEachRetryOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &down{}
		cluster, err := Connect(&rest.Config{Host: "http://down", Transport: server})
		require.NoError(t, err)
		ctx, stop := context.WithCancel(t.Context())
		retries := 0
		ctx = WithRetries(ctx, func(Retry) {
			if retries++; retries == 3 {
				stop()
			}
		})
		cluster.Watch(ctx, CoreKind("configmaps"), "shop", Query{}, func(WatchEvent) {})
		require.Equal(t, server.refused, retries)
	})
}

// A run is waiting: the first pauses are short, the later ones spare an API server that is down.
func TestAWatchIsSoonOpenedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster, err := Connect(&rest.Config{Host: "http://down", Transport: &down{}})
		require.NoError(t, err)
		ctx, stop := context.WithCancel(t.Context())
		var at []time.Time
		ctx = WithRetries(ctx, func(Retry) {
			if at = append(at, time.Now()); len(at) == 10 {
				stop()
			}
		})
		cluster.Watch(ctx, CoreKind("configmaps"), "shop", Query{}, func(WatchEvent) {})
		require.Less(t, at[1].Sub(at[0]), 200*time.Millisecond)
		require.Less(t, at[2].Sub(at[1]), 400*time.Millisecond)
		require.GreaterOrEqual(t, at[9].Sub(at[8]), 5*time.Second)
	})
}
