package main

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/internal/cli/report"
)

const someManifest = "{apiVersion: v1, kind: ConfigMap, metadata: {name: from-afar}}\n"

// site responds according to the path.
func site(t *testing.T) (address string, requested *[]*http.Request) {
	t.Helper()
	requested = new([]*http.Request)
	mux := http.NewServeMux()
	answer := func(path, kind, text string) {
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
			*requested = append(*requested, r)
			w.Header().Set("Content-Type", kind)
			_, _ = w.Write([]byte(text))
		})
	}
	answer("/app.yaml", "text/plain", someManifest)
	answer("/page", "text/html; charset=utf-8", someManifest)
	answer("/blob/app.yaml", "text/plain", "\n<!DOCTYPE html>\n<html><body>app.yaml</body></html>")
	answer("/broken.yaml", "text/plain", "kind: ConfigMap\n")
	mux.Handle("/moved.yaml", http.RedirectHandler("/app.yaml", http.StatusFound))
	mux.Handle("/loop.yaml", http.RedirectHandler("/loop.yaml", http.StatusFound))
	mux.HandleFunc("/private.yaml", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) })
	mux.HandleFunc("/ill.yaml", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) })
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.URL, requested
}

// The target of a URL is read like a file, and its errors are reported.
func TestManifestsFromAURL(t *testing.T) {
	at, requested := site(t)
	for path, want := range map[string]string{
		"/app.yaml":      "",
		"/moved.yaml":    "",
		"/none.yaml":     "read " + at + "/none.yaml: the server returned 404 Not Found: check the URL, and that the version in it was released",
		"/page":          "read " + at + "/page: it is a web page, not a manifest: use the URL of the raw file",
		"/blob/app.yaml": "read " + at + "/blob/app.yaml: it is a web page, not a manifest: use the URL of the raw file",
		"/private.yaml":  "read " + at + "/private.yaml: the server returned 401 Unauthorized: it requires credentials, and ordapply sends none; download it, and name the file",
		"/ill.yaml":      "read " + at + "/ill.yaml: the server returned 502 Bad Gateway: server error; try again later",
		"/loop.yaml":     "read " + at + "/loop.yaml: stopped after 10 redirects",
		"/broken.yaml":   at + "/broken.yaml, document 1 (line 1): ConfigMap: apiVersion is missing",
	} {
		var out, output bytes.Buffer
		code := run(t.Context(), []string{"plan", "--dry-run=client", "-f", at + path}, strings.NewReader(""), &out, &output)
		if want == "" {
			require.Equal(t, report.ExitDone, code, output.String())
			require.Contains(t, out.String(), "ConfigMap default/from-afar")
			continue
		}
		require.Equal(t, report.ExitFailed, code, "%s: %s", path, out.String())
		require.Equal(t, "error: "+want+"\n", output.String())
	}
	for _, request := range *requested {
		require.Empty(t, request.Header.Get("Authorization"))
		require.Empty(t, request.Cookies())
	}
}

// The cluster's credentials are not sent, and the URL's are in no message.
func TestAURLGetsNoCredentialsOfTheCluster(t *testing.T) {
	at, requested := site(t)
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, os.WriteFile(kubeconfig, []byte("{apiVersion: v1, kind: Config, current-context: c, clusters: [{name: c, cluster: {server: '"+at+"'}}], "+
		"users: [{name: u, user: {token: very-secret}}], contexts: [{name: c, context: {cluster: c, user: u}}]}"), 0o600))
	code, output := runOn(t.Context(), nil, "plan", "-f", at+"/app.yaml", "--kubeconfig", kubeconfig, "--token", "very-secret")
	require.Equal(t, report.ExitFailed, code, output)
	require.NotEmpty(t, *requested)
	require.Empty(t, (*requested)[0].Header.Get("Authorization"))
	_, output = runOn(t.Context(), nil, "plan", "--dry-run=client", "-f", strings.Replace(at, "http://", "http://ann:secret@", 1)+"/none.yaml")
	require.Contains(t, output, "read http://xxxxx@")
	require.NotContains(t, output, "secret")
}

// An interrupt ends a download that hangs.
func TestAHungDownloadIsInterrupted(t *testing.T) {
	hung := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-hung }))
	t.Cleanup(server.Close)
	t.Cleanup(func() { close(hung) })
	for _, verb := range [][]string{{"plan", "--dry-run=client"}, {"sort"}, {"apply"}} {
		ctx, interrupt := context.WithCancel(t.Context())
		time.AfterFunc(50*time.Millisecond, interrupt)
		code, output := runOn(ctx, nil, append(verb, "-f", server.URL+"/hung")...)
		require.Equal(t, report.ExitInterrupted, code, "%v: %s", verb, output)
	}
}
