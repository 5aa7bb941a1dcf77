//go:build !linux

package lease

import "time"

// sinceBoot is not available here: the wall clock includes suspension.
func sinceBoot() time.Duration { return 0 }
