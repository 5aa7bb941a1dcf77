package source

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A slow, endless or redirecting server does not block the command.
func TestAURLHasLimits(t *testing.T) {
	hung := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/large" {
			_, _ = w.Write(bytes.Repeat([]byte("# comment\n"), 300_000))
			return
		}
		_, _ = w.Write([]byte("# it begins\n"))
		w.(http.Flusher).Flush()
		<-hung
	}))
	t.Cleanup(server.Close)
	t.Cleanup(func() { close(hung) })
	get := func(ctx context.Context, path string) error {
		address, err := url.Parse(server.URL + path)
		require.NoError(t, err)
		_, err = download{timeout: 200 * time.Millisecond, limit: 2 << 20}.read(ctx, address)
		return err
	}
	require.EqualError(t, get(t.Context(), "/hung"), "read "+server.URL+"/hung: the download took longer than 200ms: download it, and name the file")
	require.EqualError(t, get(t.Context(), "/large"), "read "+server.URL+"/large: it is larger than 2 MiB: download it, and name the file")
}

// HTTPS is not redirected to HTTP.
func TestAURLStaysSecure(t *testing.T) {
	first := &http.Request{URL: &url.URL{Scheme: "https", Host: "here"}}
	require.EqualError(t, checkRedirect(&http.Request{URL: &url.URL{Scheme: "http", Host: "there"}}, []*http.Request{first}), "it redirects to http://there, which is not HTTPS")
	require.NoError(t, checkRedirect(&http.Request{URL: &url.URL{Scheme: "https", Host: "there"}}, []*http.Request{first}))
}

// Only strings with a supported scheme are URLs.
func TestWhatIsAURL(t *testing.T) {
	for name, is := range map[string]bool{
		"https://example.com/a.yaml": true, "HTTP://example.com": true,
		"a.yaml": false, "-": false, "https://": false, "https:/a.yaml": false, "ftp://example.com/a": false, "./http:/x": false,
	} {
		require.Equal(t, is, asURL(name) != nil, name)
	}
}
