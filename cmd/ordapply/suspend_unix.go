//go:build unix

package main

import (
	"os"
	"os/signal"
	"syscall"
	"time"
)

// suspensions gives the signals by which a terminal stops the process (Ctrl-Z)
// and by which it continues, until end is called.
func suspensions() (stops, conts <-chan os.Signal, end func()) {
	stop, cont := make(chan os.Signal, 1), make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTSTP)
	signal.Notify(cont, syscall.SIGCONT)
	return stop, cont, func() { signal.Stop(stop); signal.Stop(cont) }
}

// suspend stops the process, and returns when it continues. Where no shell could
// continue it (an orphaned process group, the first process of a container) the
// kernel ignores the signal, and suspend returns after a moment.
//
// The signal is SIGTTIN, because the kernel treats it as SIGTSTP, and the Go
// runtime leaves it its default action: it never gives SIGTSTP its own back, once
// that was asked for.
func suspend(conts <-chan os.Signal) {
	select {
	case <-conts: // of an earlier stop
	default:
	}
	if syscall.Kill(os.Getpid(), syscall.SIGTTIN) != nil {
		return
	}
	// The signal may reach another thread a little later. These are many short
	// waits, so that the time spent stopped counts as one of them.
	for range 20 {
		select {
		case <-conts:
			return
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// resizes gives the signal of a terminal that changes its size, until end is
// called.
func resizes() (sizes <-chan os.Signal, end func()) {
	size := make(chan os.Signal, 1)
	signal.Notify(size, syscall.SIGWINCH)
	return size, func() { signal.Stop(size) }
}
