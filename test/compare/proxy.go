package main

import (
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/tools/clientcmd"
)

// distant returns a kubeconfig through a proxy that adds a delay to each round trip, and a
// function that stops the proxy.
func distant(kubeconfig, dir string, delay time.Duration) (file string, stop func(), err error) {
	config, err := clientcmd.LoadFromFile(kubeconfig)
	if err != nil {
		return "", nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	for name, cluster := range config.Clusters {
		server, err := url.Parse(cluster.Server)
		if err != nil {
			return "", nil, fmt.Errorf("cluster %s: %w", name, err)
		}
		go delayConnections(listener, server.Host, delay/2)
		server.Host = listener.Addr().String()
		cluster.Server = server.String()
	}
	file = filepath.Join(dir, "kubeconfig-"+delay.String())
	if err := clientcmd.WriteToFile(*config, file); err != nil {
		return "", nil, err
	}
	return file, func() { _ = listener.Close() }, os.Chmod(file, 0o600)
}

// delayConnections passes on connections until the listener is closed, and delivers what
// either side sends after a delay.
func delayConnections(listener net.Listener, server string, delay time.Duration) {
	for {
		client, err := listener.Accept()
		if err != nil {
			return
		}
		go func() {
			defer func() { _ = client.Close() }()
			upstream, err := net.Dial("tcp", server)
			if err != nil {
				return
			}
			defer func() { _ = upstream.Close() }()
			ended := make(chan struct{}, 2)
			for _, way := range [][2]net.Conn{{client, upstream}, {upstream, client}} {
				go func() {
					deliver(way[1], way[0], delay)
					ended <- struct{}{}
				}()
			}
			<-ended
		}()
	}
}

// deliver copies bytes, each a delay after it came. Many may be under way at a time.
func deliver(to io.Writer, from io.Reader, delay time.Duration) {
	type packet struct {
		due   time.Time
		bytes []byte
	}
	way := make(chan packet, 4096)
	go func() {
		defer close(way)
		for {
			buffer := make([]byte, 16<<10)
			n, err := from.Read(buffer)
			if n > 0 {
				way <- packet{time.Now().Add(delay), buffer[:n]}
			}
			if err != nil {
				return
			}
		}
	}()
	for p := range way {
		time.Sleep(time.Until(p.due))
		if _, err := to.Write(p.bytes); err != nil {
			break
		}
	}
	for range way { // so that the reader ends
	}
}
