package main

import (
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ordapply/ordapply/internal/cli/report"
	"github.com/ordapply/ordapply/test/testcluster"
)

// An APIService is ready when the API server can reach its backend, not when
// the object exists: later waves do not open until then. A broken one blocks
// the deletion of namespaces, so this test has its own cluster.
func TestAPIServiceWaitsForItsBackend(t *testing.T) {
	t.Parallel()
	address := ownAddress(t)
	cluster := testcluster.Start(t, "--light") // its own
	var up atomic.Bool
	port := aggregated(t, &up)
	stream := []byte(fmt.Sprintf(`apiVersion: v1
kind: Service
metadata: {name: extension, namespace: default}
spec: {ports: [{name: https, port: 443, targetPort: %[2]d}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: extension, namespace: default, labels: {kubernetes.io/service-name: extension}}
addressType: IPv4
ports: [{name: https, port: %[2]d}]
endpoints: [{addresses: [%[1]q], conditions: {ready: true}}]
---
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: v1.extension.example}
spec:
  group: extension.example
  version: v1
  groupPriorityMinimum: 100
  versionPriority: 100
  insecureSkipTLSVerify: true
  service: {name: extension, namespace: default}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: later, namespace: default, annotations: {ordapply.dev/depends-on: apiregistration.k8s.io/APIService/v1.extension.example}}
`, address, port))
	code, output := applyThrough(cluster.Kubeconfig, stream, "--wave-timeout", "15s")
	require.Equal(t, report.ExitTimedOut, code, output)
	require.Contains(t, output, "wait for APIService v1.extension.example: not ready after 15s (--wave-timeout): FailedDiscoveryCheck: ")
	require.Contains(t, output, "it blocks 1 resource in wave 2/2: ConfigMap default/later")
	out, err := cluster.TryKubectl("get", "configmap", "later")
	require.Error(t, err, out)

	up.Store(true)
	code, output = applyThrough(cluster.Kubeconfig, stream, "--wave-timeout", "3m")
	require.Equal(t, report.ExitDone, code, output)
}

// aggregated serves an API group without kinds while up is true.
func aggregated(t *testing.T, up *atomic.Bool) (port int) {
	t.Helper()
	return serveTLS(t, nil, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if !up.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		_, _ = io.WriteString(w, `{"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": "extension.example/v1", "resources": []}`)
	})
}

// serveTLS serves on all addresses of this machine, so that an API server can
// connect.
func serveTLS(t *testing.T, config *tls.Config, handler http.HandlerFunc) (port int) {
	t.Helper()
	listener, err := net.Listen("tcp", "0.0.0.0:0")
	require.NoError(t, err)
	server := httptest.NewUnstartedServer(handler)
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.TLS = config
	require.NoError(t, server.Listener.Close())
	server.Listener = listener
	server.StartTLS()
	t.Cleanup(server.Close)
	return listener.Addr().(*net.TCPAddr).Port
}

// ownAddress returns an address of this machine that is valid in endpoints: the
// API rejects loopback addresses.
func ownAddress(t *testing.T) string {
	t.Helper()
	addresses, err := net.InterfaceAddrs()
	require.NoError(t, err)
	for _, a := range addresses {
		network, ok := a.(*net.IPNet)
		if ok && network.IP.To4() != nil && network.IP.IsGlobalUnicast() {
			return network.IP.String()
		}
	}
	t.Skip("skipped: it needs an address beside 127.0.0.1")
	return ""
}
