//go:build !linux

package main

// jobShell is for the tests on a terminal, which run on Linux.
func jobShell() {}
