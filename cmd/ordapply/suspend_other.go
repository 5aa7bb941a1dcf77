//go:build !unix

package main

import "os"

// suspensions returns nil channels on systems where processes cannot be
// stopped.
func suspensions() (stops, conts <-chan os.Signal, end func()) { return nil, nil, func() {} }

func suspend(<-chan os.Signal) {}

// resizes returns a nil channel on systems without SIGWINCH.
func resizes() (sizes <-chan os.Signal, end func()) { return nil, func() {} }
