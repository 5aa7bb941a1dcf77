package state

import "time"

// moment is a point in time by each clock that this process has. One alone does
// not do: while a machine is suspended the monotonic clock of Linux and macOS
// stands still, and the wall clock may be set back.
type moment struct {
	monotonic time.Time     // and the wall clock
	boot      time.Duration // since the machine started, suspended or not; 0 where there is no such clock
}

func thisMoment() moment { return moment{time.Now(), sinceBoot()} }

// ago is how long ago a moment was by the clock that says most. Where it says too
// much, because the wall clock was set forward, a Lease is renewed too early.
func (m moment) ago() time.Duration {
	now := thisMoment()
	return max(now.monotonic.Sub(m.monotonic), now.monotonic.Round(0).Sub(m.monotonic.Round(0)), now.boot-m.boot)
}
