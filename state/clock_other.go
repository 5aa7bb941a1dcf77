//go:build !linux

package state

import "time"

// sinceBoot is not known here: the wall clock goes on while the machine is
// suspended.
func sinceBoot() time.Duration { return 0 }
