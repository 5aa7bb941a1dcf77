package input

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
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
	get := func(limit time.Duration, path string) error {
		address, err := url.Parse(server.URL + path)
		require.NoError(t, err)
		_, err = download{timeout: limit, limit: 2 << 20}.read(t.Context(), address)
		return err
	}
	require.EqualError(t, get(200*time.Millisecond, "/hung"), "read "+server.URL+"/hung: the download took longer than 200ms: download it, and name the file")
	require.EqualError(t, get(time.Hour, "/large"), "read "+server.URL+"/large: it is larger than 2 MiB: download it, and name the file")
}

// HTTPS is not redirected to HTTP.
func TestAURLStaysSecure(t *testing.T) {
	first := &http.Request{URL: &url.URL{Scheme: "https", Host: "here"}}
	require.EqualError(t, checkRedirect(&http.Request{URL: &url.URL{Scheme: "http", Host: "there"}}, []*http.Request{first}), "it redirects to http://there, which is not HTTPS")
	require.NoError(t, checkRedirect(&http.Request{URL: &url.URL{Scheme: "https", Host: "there"}}, []*http.Request{first}))
}

// The query of a URL may be a token: it is neither sent to the host of a redirect nor printed.
func TestATokenStaysWithItsServer(t *testing.T) {
	var seen []string
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen = append(seen, r.URL.String(), r.Header.Get("Referer"), r.Header.Get("Authorization"))
		http.Redirect(w, r, "/again?token=theirs", http.StatusFound)
	}))
	t.Cleanup(other.Close)
	first := httptest.NewServer(http.RedirectHandler(other.URL+"/a", http.StatusFound))
	t.Cleanup(first.Close)
	address, err := url.Parse(strings.Replace(first.URL, "://", "://jane:hunter2@", 1) + "/m?token=hunter2")
	require.NoError(t, err)
	_, err = downloads().read(t.Context(), address)
	require.EqualError(t, err, "read "+strings.Replace(first.URL, "://", "://xxxxx@", 1)+"/m?xxxxx: stopped after 10 redirects")
	require.NotEmpty(t, seen)
	require.NotContains(t, strings.Join(seen, "\n"), "hunter2")
	for i := 1; i < len(seen); i += 3 {
		require.Empty(t, seen[i], "Referer")
	}
	from := &http.Request{URL: &url.URL{Scheme: "https", Host: "here"}}
	err = checkRedirect(&http.Request{URL: &url.URL{Scheme: "http", Host: "there", RawQuery: "token=hunter2"}}, []*http.Request{from})
	require.EqualError(t, err, "it redirects to http://there?xxxxx, which is not HTTPS")
	var f Source
	require.Equal(t, "reading https://xxxxx@here/m?xxxxx", f.reading("https://jane:hunter2@here/m?token=hunter2"))
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
