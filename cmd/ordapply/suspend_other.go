//go:build !unix

package main

import "os"

// suspensions are none where processes cannot be stopped.
func suspensions() (stops, conts <-chan os.Signal, end func()) { return nil, nil, func() {} }

func suspend(<-chan os.Signal) {}

// resizes are none where terminals do not tell.
func resizes() (sizes <-chan os.Signal, end func()) { return nil, func() {} }
