package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPortsAreFreeAndDistinct(t *testing.T) {
	names := make([]string, 500)
	for i := range names {
		names[i] = fmt.Sprint(i)
	}
	ports, err := choosePorts(names...)
	require.NoError(t, err)
	seen := map[int]bool{}
	for _, port := range ports {
		require.False(t, seen[port], "twice %d", port)
		seen[port] = true
		require.GreaterOrEqual(t, port, firstPort)
		require.LessOrEqual(t, port, lastPort)
	}
}

func TestPortInUseIsNotChosen(t *testing.T) {
	busy, err := freePort(nil)
	require.NoError(t, err)
	l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", busy))
	require.NoError(t, err)
	defer l.Close()
	taken := map[int]bool{}
	for port := firstPort; port <= lastPort; port++ {
		taken[port] = port != busy
	}
	_, err = freePort(taken)
	require.EqualError(t, err, "no free port from 20000 to 32767 on 127.0.0.1")
}

// TestPortTakenIsTriedAgain: `up` tries again when, and only when, the log of the dead component says so.
func TestPortTakenIsTriedAgain(t *testing.T) {
	c := &cluster{Dir: t.TempDir()}
	require.NoError(t, os.Mkdir(c.path("logs"), 0o755))
	log := func(text string) error {
		require.NoError(t, os.WriteFile(filepath.Join(c.Dir, "logs", "kwok.log"), []byte(text), 0o644))
		return death{name: kwok, how: errors.New("exit status 1")}.error(c)
	}
	require.ErrorIs(t, log("listen tcp 127.0.0.1:20765: bind: address already in use\n"), errPortTaken)
	err := log("no stages found\n")
	require.NotErrorIs(t, err, errPortTaken)
	require.EqualError(t, err, "kwok ended (exit status 1); the end of its log:\n  no stages found")
}
