//go:build !linux

package main

// jobShell is for the terminal tests, which run on Linux only.
func jobShell() {}
