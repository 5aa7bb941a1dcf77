package main

import (
	"fmt"
	"math/rand/v2"
	"net"
)

// The names of the ports a cluster listens on, all on 127.0.0.1.
const (
	portServer  = "kube-apiserver"
	portKwok    = "kwok"
	portPodLogs = "pod-logs"
)

// Ports come from below the ranges that Linux (from 32768) and macOS (from 49152) give to outgoing connections, so
// that no client on this machine takes one between our check and the server's listen.
const firstPort, lastPort = 20000, 32767

// choosePorts finds a free port for each name. Another program may still take one before its server listens: `up`
// then chooses again.
func choosePorts(names ...string) (map[string]int, error) {
	ports := map[string]int{}
	taken := map[int]bool{}
	for _, name := range names {
		port, err := freePort(taken)
		if err != nil {
			return nil, err
		}
		ports[name], taken[port] = port, true
	}
	return ports, nil
}

// freePort starts at a random place, so that clusters that start together rarely look at the same port.
func freePort(taken map[int]bool) (int, error) {
	const count = lastPort - firstPort + 1
	start := rand.IntN(count)
	for i := range count {
		port := firstPort + (start+i)%count
		if taken[port] {
			continue
		}
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			continue
		}
		return port, l.Close()
	}
	return 0, fmt.Errorf("no free port from %d to %d on 127.0.0.1", firstPort, lastPort)
}
