//go:build unix

package terminal

import (
	"os"
	"os/signal"
	"syscall"
	"time"
)

// Suspensions returns the signals by which a terminal stops (Ctrl-Z) and
// continues the process, until end is called.
func Suspensions() (stops, conts <-chan os.Signal, end func()) {
	stop, cont := make(chan os.Signal, 1), make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTSTP)
	signal.Notify(cont, syscall.SIGCONT)
	return stop, cont, func() { signal.Stop(stop); signal.Stop(cont) }
}

// Suspend stops the process and returns when it continues. If no shell could
// continue it (an orphaned process group, process 1 of a container), the kernel ignores the
// signal and Suspend returns after a moment.
//
// It sends SIGTTIN, which the kernel treats like SIGTSTP: after Notify, the Go
// runtime never restores the default action of SIGTSTP.
func Suspend(conts <-chan os.Signal) {
	select {
	case <-conts: // of an earlier stop
	default:
	}
	if syscall.Kill(os.Getpid(), syscall.SIGTTIN) != nil {
		return
	}
	// The signal may be delivered to another thread a little later. The waits
	// are many and short, so that the time spent stopped counts as only one of
	// them.
	for range 20 {
		select {
		case <-conts:
			return
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// Resizes returns the signal of a terminal resize, until end is called.
func Resizes() (sizes <-chan os.Signal, end func()) {
	size := make(chan os.Signal, 1)
	signal.Notify(size, syscall.SIGWINCH)
	return size, func() { signal.Stop(size) }
}
