package limits

import (
	"sync/atomic"
	"time"
)

// Evaluations runs evaluations that may not end, such as of one health check. The zero value
// is ready to use, from any goroutine.
type Evaluations struct{ abandoned atomic.Int32 }

// Abandoned reports whether an evaluation runs that was not waited for.
func (e *Evaluations) Abandoned() bool { return e.abandoned.Load() > 0 }

// Within returns the result of do if it returns before the limit. Otherwise do is abandoned:
// it runs on in its goroutine, because nothing can stop it, and ok is false at once for the
// calls that follow while it does, so that they do not take further processors.
func Within[T any](e *Evaluations, limit time.Duration, do func() T) (result T, ok bool) {
	if e.Abandoned() {
		return result, false
	}
	var ended atomic.Bool // or abandoned
	done := make(chan T, 1)
	go func() {
		done <- do()
		if !ended.CompareAndSwap(false, true) {
			e.abandoned.Add(-1)
		}
	}()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case result = <-done:
		return result, true
	case <-timer.C:
	}
	e.abandoned.Add(1)
	if !ended.CompareAndSwap(false, true) { // it ended meanwhile
		e.abandoned.Add(-1)
		return <-done, true
	}
	return result, false
}
