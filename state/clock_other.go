//go:build !linux

package state

import "time"

// sinceBoot is not available here: the wall clock includes suspension.
func sinceBoot() time.Duration { return 0 }
