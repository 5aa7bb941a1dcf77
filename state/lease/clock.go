package lease

import "time"

// moment is a point in time on each clock of this process. No single one
// suffices: while a machine is suspended the monotonic clock of Linux and
// macOS stops, and the wall clock may be set back.
type moment struct {
	monotonic time.Time     // and the wall clock
	boot      time.Duration // since the machine started, including suspension; 0 where there is no such clock
}

func thisMoment() moment { return moment{time.Now(), sinceBoot()} }

// ago returns the time since a moment by the clock that shows the most. If
// that is too much, because the wall clock was set forward, a Lease is
// renewed too early.
func (m moment) ago() time.Duration {
	now := thisMoment()
	return max(now.monotonic.Sub(m.monotonic), now.monotonic.Round(0).Sub(m.monotonic.Round(0)), now.boot-m.boot)
}
