package kube

import (
	"context"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"

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
