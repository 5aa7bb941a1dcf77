//go:build !unix

package main

import "os"

// suspensions gives no signals where processes cannot be stopped.
func suspensions() (stops, conts <-chan os.Signal, end func()) { return nil, nil, func() {} }

func suspend(<-chan os.Signal) {}

// resizes gives no signals where terminals send none.
func resizes() (sizes <-chan os.Signal, end func()) { return nil, func() {} }
