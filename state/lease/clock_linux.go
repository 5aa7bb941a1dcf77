package lease

import (
	"time"

	"golang.org/x/sys/unix"
)

// sinceBoot returns the time since boot, including suspension.
func sinceBoot() time.Duration {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &now); err != nil {
		return 0
	}
	return time.Duration(now.Nano())
}
