package main

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A request takes the delay once, and requests of one connection do not wait for each
// other's delay.
func TestDelay(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(w, r.Body)
	}))
	defer server.Close()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	const delay = 100 * time.Millisecond
	go delayConnections(listener, server.Listener.Addr().String(), delay/2)
	connection, err := net.Dial("tcp", listener.Addr().String())
	require.NoError(t, err)
	defer connection.Close()
	begin := time.Now()
	for range 5 {
		_, err := io.WriteString(connection, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
		require.NoError(t, err)
		time.Sleep(delay / 10)
	}
	first := make([]byte, 1)
	_, err = io.ReadFull(connection, first)
	require.NoError(t, err)
	require.GreaterOrEqual(t, time.Since(begin), delay)
	require.Less(t, time.Since(begin), 4*delay, "one round trip, not one for each request")
}
