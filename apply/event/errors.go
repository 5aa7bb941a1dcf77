package event

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/object"
)

// Error is the failure of one resource: the wave, the operation, the resource
// and the cause.
type Error struct {
	Wave string    // the wave's title, "wave 2/5 (data)"
	Op   Op        // the operation that failed
	ID   object.ID // the resource
	Err  error     // the cause, such as an *errors.StatusError or a *TimeoutError
	// Diagnosis is the cluster's report why the resource did not become ready;
	// nil when it was not asked.
	Diagnosis *Diagnosis
}

// Error returns "wave 2/5 (data): apply Deployment shop/web: cause".
func (e *Error) Error() string { return fmt.Sprintf("%s: %s %s: %v", e.Wave, e.Op, e.ID, e.Err) }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// TimeoutError reports a resource that was not ready, or not gone, in time.
type TimeoutError struct {
	After time.Duration // the limit; with scope "CRD" since the last progress of a CustomResourceDefinition
	Scope string        // which timeout expired: "resource", "kind", "CRD", "wave", "run" or a layer's name
	Last  string        // the last known state of the resource
	// NotApplied is set when not even the PATCH succeeded.
	NotApplied bool
	// Deletion is set when the wait was for the resource's deletion.
	Deletion bool
}

// Error names the limit, its setting and last state: "not ready after 5m0s (--wave-timeout): …".
func (e *TimeoutError) Error() string {
	missed := "not ready"
	switch {
	case e.Deletion && e.NotApplied:
		missed = "not deleted"
	case e.Deletion:
		missed = "not gone"
	case e.NotApplied:
		missed = "not applied"
	}
	after := e.After.Round(time.Millisecond).String()
	if e.Scope == "CRD" {
		after += " without progress of any CustomResourceDefinition"
	}
	return fmt.Sprintf("%s after %s (%s): %s", missed, after, settingOf(e.Scope), e.Last)
}

// settingOf names the setting of a scope's timeout.
func settingOf(scope string) string {
	switch scope {
	case "resource":
		return "its timeout annotation"
	case "kind":
		return "timeouts in the order"
	case "CRD":
		return "--crd-timeout"
	case "wave":
		return "--wave-timeout"
	case "run":
		return "--timeout"
	}
	return "timeout of " + scope
}

// RunTimeoutError ends a run whose timeout expired before everything was
// done.
type RunTimeoutError struct {
	After       time.Duration // the limit
	Unfinished  []Result      // not started or unsettled, in plan order
	NothingSent bool          // the time was over before the first request that writes
}

// Error names the first of the unfinished resources.
func (e *RunTimeoutError) Error() string {
	names := plain.Sample(e.Unfinished, MaxNames, "and %d more", func(r Result) string { return r.ID.String() })
	why := ""
	if e.NothingSent {
		why = " before anything was sent, because the API server was slow to list the existing objects"
	}
	return fmt.Sprintf("the run timed out after %s (--timeout)%s; %s left: %s; run the same command again to finish",
		e.After.Round(time.Millisecond), why, plain.Count(len(e.Unfinished), "resource"), strings.Join(names, ", "))
}

// ErrInterrupted ends a run whose context was canceled. It waits up to 10s for
// requests in flight.
var ErrInterrupted = errors.New("interrupted: no further resource was started; run the same command again to finish")
