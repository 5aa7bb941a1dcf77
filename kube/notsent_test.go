package kube

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"
)

// A request that got no connection was not sent, whatever the reason. One
// that got a connection may have been sent, over HTTP/1.1 and HTTP/2.
func TestWhatGotNoConnectionWasNotSent(t *testing.T) {
	for name, c := range map[string]struct {
		host    string
		notSent bool
	}{
		"no name":                        {"https://none.invalid", true},
		"nothing listens":                {listener(t, nil), true},
		"closed within the handshake":    {listener(t, func(conn net.Conn) { _, _ = conn.Read(make([]byte, 1)) }), true},
		"no TLS":                         {listener(t, func(conn net.Conn) { _, _ = io.WriteString(conn, "HTTP/1.1 400 Bad Request\r\n\r\n") }), true},
		"closed after the request":       {hangingUp(t, false), false},
		"closed after the request, h2":   {hangingUp(t, true), false},
		"closed without TLS, by sending": {strings.Replace(listener(t, func(conn net.Conn) { _, _ = conn.Read(make([]byte, 1)) }), "https:", "http:", 1), false},
	} {
		t.Run(name, func(t *testing.T) {
			connection, err := connect(&rest.Config{Host: c.host, TLSClientConfig: rest.TLSClientConfig{Insecure: true}})
			require.NoError(t, err)
			request, err := http.NewRequestWithContext(t.Context(), http.MethodPatch, c.host, strings.NewReader("body"))
			require.NoError(t, err)
			_, err = (&http.Client{Transport: connection.shared}).Do(request)
			require.Error(t, err)
			require.Equal(t, c.notSent, IsNotSent(err), "%v", err)
		})
	}
}

// listener returns the address of a port whose connections are handled by
// serve and closed; with nil nothing listens there.
func listener(t *testing.T, serve func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	if serve == nil {
		require.NoError(t, l.Close())
	} else {
		go func() {
			for {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				serve(conn)
				_ = conn.Close()
			}
		}()
	}
	return "https://" + l.Addr().String()
}

// hangingUp returns a server that reads requests and closes their
// connections.
func hangingUp(t *testing.T, http2 bool) string {
	t.Helper()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	server.EnableHTTP2 = http2
	server.StartTLS()
	t.Cleanup(server.Close)
	return server.URL
}
