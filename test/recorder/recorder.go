// Package recorder is a proxy between a client and a real API server: it
// records every request in order of arrival, and injects faults.
//
//	proxy := recorder.Start(t, cluster.Kubeconfig)
//	proxy.Inject(recorder.Times(3, recorder.Verb("patch", ""), recorder.Reset))
//	// run the client with proxy.Kubeconfig
//	proxy.Requests()
package recorder

import (
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Proxy is a recording proxy.
type Proxy struct {
	// Kubeconfig is the file with which clients use the proxy.
	Kubeconfig string

	mu       sync.Mutex
	requests []*Request
	inject   func(*Request) Fault
	server   *httptest.Server
	forward  http.Handler
}

// Request is a request as it arrived.
type Request struct {
	Verb      string // get, list, watch, patch, create, update, delete; "discovery" for requests without a resource, "review" for access reviews
	Group     string
	Resource  string // with its subresource, "deployments/status"
	Namespace string
	Name      string
	Metadata  bool // the metadata of objects is requested, not the objects
	URL       *url.URL
	Arrived   time.Time
	Answered  time.Time // start of the response; zero before
	Code      int       // of the response; 0 before
}

// Fault responds to a request instead of the API server. A nil Fault forwards
// it.
type Fault func(w http.ResponseWriter, r *http.Request)

// Start runs a proxy until the test ends. It speaks HTTP/1.1, where breaking a
// connection breaks one request.
func Start(t testing.TB, kubeconfig string) *Proxy {
	t.Helper()
	return start(t, kubeconfig, false)
}

// StartHTTP2 is Start for HTTP/2, where all requests share one connection, as
// with an API server.
func StartHTTP2(t testing.TB, kubeconfig string) *Proxy {
	t.Helper()
	return start(t, kubeconfig, true)
}

func start(t testing.TB, kubeconfig string, http2 bool) *Proxy {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	require.NoError(t, err)
	target, err := url.Parse(config.Host)
	require.NoError(t, err)
	token := config.BearerToken
	require.NotEmpty(t, token, "the kubeconfig must log in with a token, which a proxy can pass on")
	transport, err := rest.TransportFor(rest.AnonymousClientConfig(config))
	require.NoError(t, err)
	forward := httputil.NewSingleHostReverseProxy(target)
	forward.Transport = transport
	forward.FlushInterval = -1
	forward.ErrorLog = discardLog()
	p := &Proxy{forward: forward}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { p.serve(w, r) }))
	server.EnableHTTP2 = http2
	server.Config.ErrorLog = discardLog()
	server.StartTLS()
	p.server = server
	t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	p.Kubeconfig = writeKubeconfig(t, server, token)
	return p
}

// writeKubeconfig writes a kubeconfig with the proxy over TLS, since clients
// send tokens only over TLS.
func writeKubeconfig(t testing.TB, server *httptest.Server, token string) string {
	t.Helper()
	config := clientcmdapi.NewConfig()
	config.Clusters["proxy"] = &clientcmdapi.Cluster{
		Server:                   server.URL,
		CertificateAuthorityData: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}),
	}
	config.AuthInfos["proxy"] = &clientcmdapi.AuthInfo{Token: token}
	config.Contexts["proxy"] = &clientcmdapi.Context{Cluster: "proxy", AuthInfo: "proxy"}
	config.CurrentContext = "proxy"
	path := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, clientcmd.WriteToFile(*config, path))
	require.NoError(t, os.Chmod(path, 0o600))
	return path
}

func (p *Proxy) serve(w http.ResponseWriter, r *http.Request) {
	request := describe(r)
	p.mu.Lock()
	request.Arrived = time.Now()
	p.requests = append(p.requests, request)
	inject := p.inject
	p.mu.Unlock()
	seen := &answerWriter{ResponseWriter: w, answered: func(code int) {
		p.mu.Lock()
		defer p.mu.Unlock()
		request.Answered, request.Code = time.Now(), code
	}}
	if inject != nil {
		if fault := inject(request); fault != nil {
			fault(seen, r)
			return
		}
	}
	p.forward.ServeHTTP(seen, r)
}

// Inject sets the function that selects faults for new requests; nil stops
// injecting. It may be called concurrently.
func (p *Proxy) Inject(decide func(*Request) Fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.inject = decide
}

// Break resets every connection, including watches, and rejects new requests
// until mend is called, like an API server that restarts.
func (p *Proxy) Break() (mend func()) {
	p.Inject(func(*Request) Fault { return Reset })
	p.server.CloseClientConnections()
	return func() { p.Inject(nil) }
}

// Requests returns copies of the requests so far, in order.
func (p *Proxy) Requests() []Request {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := make([]Request, len(p.requests))
	for i, r := range p.requests {
		out[i] = *r
	}
	return out
}

// Reset clears the recorded requests.
func (p *Proxy) Reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.requests = nil
}

// String formats the request for a test failure.
func (r Request) String() string {
	return fmt.Sprintf("%s %s %s/%s -> %d", r.Verb, r.Resource, r.Namespace, r.Name, r.Code)
}

// describe parses the path of a request: /api/v1/namespaces/NS/pods/NAME,
// /apis/G/V/RESOURCE/NAME and so on.
func describe(r *http.Request) *Request {
	out := &Request{Verb: "discovery", URL: r.URL, Metadata: strings.Contains(r.Header.Get("Accept"), "as=PartialObjectMetadata")}
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	switch {
	case len(parts) > 2 && parts[0] == "api":
		parts = parts[2:]
	case len(parts) > 3 && parts[0] == "apis":
		out.Group, parts = parts[1], parts[3:]
	default:
		return out
	}
	if parts[0] == "namespaces" && len(parts) > 2 {
		out.Namespace, parts = parts[1], parts[2:]
	}
	out.Resource = parts[0]
	if len(parts) > 1 {
		out.Name = parts[1]
	}
	if len(parts) > 2 {
		out.Resource += "/" + parts[2]
	}
	out.Verb = verb(r, out.Name)
	return out
}

func verb(r *http.Request, name string) string {
	switch r.Method {
	case http.MethodGet:
		if r.URL.Query().Get("watch") != "" {
			return "watch"
		}
		if name == "" {
			return "list"
		}
		return "get"
	case http.MethodPost:
		if strings.HasPrefix(r.URL.Path, "/apis/authorization.k8s.io/") || strings.HasPrefix(r.URL.Path, "/apis/authentication.k8s.io/") {
			return "review"
		}
		return "create"
	case http.MethodPut:
		return "update"
	}
	return strings.ToLower(r.Method)
}

// answerWriter records the start of a response before the client can see it.
type answerWriter struct {
	http.ResponseWriter
	answered func(code int)
}

func (w *answerWriter) WriteHeader(code int) {
	w.answered(code)
	w.ResponseWriter.WriteHeader(code)
}

// Unwrap lets http.ResponseController flush and hijack.
func (w *answerWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
