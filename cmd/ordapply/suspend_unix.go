//go:build unix

package main

import (
	"os"
	"os/signal"
	"syscall"
)

// suspensions tells when the person at the terminal wants the process to stop
// (Ctrl-Z), and when it goes on, until end is called.
func suspensions() (stops, conts <-chan os.Signal, end func()) {
	stop, cont := make(chan os.Signal, 1), make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTSTP)
	signal.Notify(cont, syscall.SIGCONT)
	return stop, cont, func() { signal.Stop(stop); signal.Stop(cont) }
}

// suspend stops the process until the shell lets it go on. It is not SIGTSTP
// again: that has a handler here, and stops nobody whom no shell would continue.
func suspend(conts <-chan os.Signal) {
	select {
	case <-conts: // of the past
	default:
	}
	if syscall.Kill(os.Getpid(), syscall.SIGSTOP) == nil {
		<-conts
	}
}

// resizes tells when the terminal gets another size, until end is called.
func resizes() (sizes <-chan os.Signal, end func()) {
	size := make(chan os.Signal, 1)
	signal.Notify(size, syscall.SIGWINCH)
	return size, func() { signal.Stop(size) }
}
