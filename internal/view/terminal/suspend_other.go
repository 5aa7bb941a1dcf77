//go:build !unix

package terminal

import "os"

// Suspensions returns nil channels on systems where processes cannot be
// stopped.
func Suspensions() (stops, conts <-chan os.Signal, end func()) { return nil, nil, func() {} }

// Suspend does nothing on these systems.
func Suspend(<-chan os.Signal) {}

// Resizes returns a nil channel on systems without SIGWINCH.
func Resizes() (sizes <-chan os.Signal, end func()) { return nil, func() {} }
