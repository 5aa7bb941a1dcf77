// Package standin replaces the programs in Pods on a localcluster, where no
// containers run: for webhooks, conversion webhooks and aggregated APIs it is the HTTPS
// server behind their Services, and it makes the writes of operators.
//
//	pods, err := standin.Listen(socket)                       // before the cluster starts
//	cluster, err := testcluster.Up(bin, dir, progress, "--pod-proxy", socket)
//	err = pods.Operate(ctx, cluster.Kubeconfig)               // until ctx ends
package standin

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// Pods serves requests to the Pods of one cluster.
type Pods struct {
	proxy     net.Listener
	incoming  *queue
	server    *http.Server
	authority *authority
	calls     atomic.Int64
}

// Listen opens the proxy for `localcluster up --pod-proxy`: it serves requests to addresses
// of Pods, and forwards others, such as requests to a kubelet.
func Listen(socket string) (*Pods, error) {
	authority, err := newAuthority()
	if err != nil {
		return nil, err
	}
	proxy, err := net.Listen("unix", socket)
	if err != nil {
		return nil, err
	}
	p := &Pods{proxy: proxy, incoming: newQueue(proxy.Addr()), authority: authority}
	p.server = &http.Server{
		Handler:           http.HandlerFunc(p.answer),
		TLSConfig:         authority.serverConfig(),
		ReadHeaderTimeout: time.Minute,
		ErrorLog:          log.New(io.Discard, "", 0), // the API server reports its errors
	}
	go func() { _ = p.server.ServeTLS(p.incoming, "", "") }()
	go p.accept()
	return p, nil
}

// SignWith makes the servers trusted by all that trust an authority, such as the CA of
// the cluster, given as PEM files. It must be called before the first request.
func (p *Pods) SignWith(certificate, key string) error { return p.authority.adopt(certificate, key) }

// Calls returns the number of answered admission reviews.
func (p *Pods) Calls() int { return int(p.calls.Load()) }

// Close closes the proxy and its server.
func (p *Pods) Close() error { return errors.Join(p.proxy.Close(), p.server.Close()) }

func (p *Pods) accept() {
	for {
		conn, err := p.proxy.Accept()
		if err != nil {
			return
		}
		go p.connect(conn)
	}
}

// connect reads a connection's CONNECT request and connects it to its target.
func (p *Pods) connect(conn net.Conn) {
	request, err := http.ReadRequest(bufio.NewReader(conn))
	if err != nil || request.Method != http.MethodConnect {
		_ = conn.Close()
		return
	}
	at, err := netip.ParseAddrPort(request.Host)
	if err != nil {
		_, _ = fmt.Fprintf(conn, "HTTP/1.1 400 Bad Request\r\n\r\n")
		_ = conn.Close()
		return
	}
	if podAddresses().Contains(at.Addr()) {
		_, _ = io.WriteString(conn, established)
		p.incoming.put(conn)
		return
	}
	forward(conn, at)
}

const established = "HTTP/1.1 200 Connection established\r\n\r\n"

// podAddresses returns the address range of Pods in a localcluster.
func podAddresses() netip.Prefix { return netip.MustParsePrefix("10.244.0.0/16") }

// forward copies data between a connection and a local server.
func forward(conn net.Conn, at netip.AddrPort) {
	defer func() { _ = conn.Close() }()
	server, err := net.DialTimeout("tcp", at.String(), 5*time.Second)
	if err != nil {
		_, _ = fmt.Fprintf(conn, "HTTP/1.1 502 Bad Gateway\r\n\r\n")
		return
	}
	defer func() { _ = server.Close() }()
	_, _ = io.WriteString(conn, established)
	done := make(chan struct{}, 2)
	for _, way := range [][2]net.Conn{{conn, server}, {server, conn}} {
		go func() {
			_, _ = io.Copy(way[0], way[1])
			done <- struct{}{}
		}()
	}
	<-done
}

// queue is a net.Listener for the connections that the proxy accepts.
type queue struct {
	address net.Addr
	conns   chan net.Conn
	closed  chan struct{}
	once    sync.Once
}

func newQueue(address net.Addr) *queue {
	return &queue{address: address, conns: make(chan net.Conn), closed: make(chan struct{})}
}

func (q *queue) put(conn net.Conn) {
	select {
	case q.conns <- conn:
	case <-q.closed:
		_ = conn.Close()
	}
}

// Accept implements net.Listener.
func (q *queue) Accept() (net.Conn, error) {
	select {
	case conn := <-q.conns:
		return conn, nil
	case <-q.closed:
		return nil, os.ErrClosed
	}
}

// Close implements net.Listener.
func (q *queue) Close() error {
	q.once.Do(func() { close(q.closed) })
	return nil
}

// Addr implements net.Listener.
func (q *queue) Addr() net.Addr { return q.address }
