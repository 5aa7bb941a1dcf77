package apply

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ordapply/ordapply/object"
)

// Error is one resource's failure: in which wave, doing what, to what, why.
type Error struct {
	Wave string // the wave's title, "wave 2/5 (data)"
	Op   Op     // what was being done
	ID   object.ID
	Err  error
	// Diagnosis is what the cluster tells of why the resource did not become
	// ready; nil when it was not asked.
	Diagnosis *Diagnosis
}

func (e *Error) Error() string { return fmt.Sprintf("%s: %s %s: %v", e.Wave, e.Op, e.ID, e.Err) }
func (e *Error) Unwrap() error { return e.Err }

// TimeoutError says what was not ready in time.
type TimeoutError struct {
	After time.Duration
	Scope string // which timeout ended the wait: "wave", "run", "kind"
	Last  string // the last thing known of the resource
	// Unapplied tells that not even its PATCH had got through.
	Unapplied bool
	// Deletion tells that its being gone was waited for.
	Deletion bool
}

func (e *TimeoutError) Error() string {
	missed := "not ready"
	switch {
	case e.Deletion && e.Unapplied:
		missed = "not deleted"
	case e.Deletion:
		missed = "not gone"
	case e.Unapplied:
		missed = "not applied"
	}
	return fmt.Sprintf("%s after %s (%s timeout): %s", missed, e.After.Round(time.Millisecond), e.Scope, e.Last)
}

// RunTimeoutError ends a run whose time was over before all was done.
type RunTimeoutError struct {
	After       time.Duration
	Left        []Result // not started, or not settled, in plan order
	NothingSent bool
}

func (e *RunTimeoutError) Error() string {
	const most = 3
	var names []string
	for _, r := range e.Left[:min(most, len(e.Left))] {
		names = append(names, r.ID.String())
	}
	if n := len(e.Left) - most; n > 0 {
		names = append(names, fmt.Sprintf("and %d more", n))
	}
	why := ""
	if e.NothingSent {
		why = " before anything was sent, as the API server was slow to tell what there is"
	}
	return fmt.Sprintf("the run's time was over after %s (run timeout)%s; %s left: %s; run the same command again to finish",
		e.After.Round(time.Millisecond), why, count(len(e.Left), "resource"), strings.Join(names, ", "))
}

// ErrInterrupted ends a run whose context was cancelled.
var ErrInterrupted = errors.New("interrupted: no further resource was started; run the same command again to finish")
