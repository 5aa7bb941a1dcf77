package progress

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/ordapply/ordapply/object"
)

// Result is the outcome of one resource. A time is zero when the resource did
// not get that far.
type Result struct {
	ID    object.ID
	Layer string // the layer that the resource is in; "" for none
	Wave  int    // index into the plan's waves
	State State  // a final one
	// Detail is the reason for the outcome, or what the resource waited for
	// last.
	Detail string
	Err    error // an *Error with state Failed or TimedOut, else nil
	// Unchanged is set when nothing was sent: the object was as it had been
	// applied before, or did not exist when it was to be deleted.
	Unchanged bool
	Assumed   bool // ready, though its status does not say so
	Absent    bool // it is proven that the object did not exist when the run began
	Member    bool // it is proven that the object existed, as a member of the set
	Adopted   bool // the object existed, and was not a member of the set
	// Created is the uid of the object that the run is proven to have created;
	// "" when it did not, when that is unknown, or when its PATCH was not
	// answered.
	Created        types.UID
	FailedAttempts int       // failed attempts to apply it
	Sent           time.Time // its first PATCH
	Applied        time.Time // the answer to its PATCH
	Done           time.Time // its final state
}

// Took returns the time from the first PATCH of the resource to its final
// state; 0 if nothing was sent.
func (r Result) Took() time.Duration {
	if r.Sent.IsZero() {
		return 0
	}
	return r.Done.Sub(r.Sent)
}

// Summary is the outcome of a run, with one result per step in plan order.
type Summary struct {
	Results []Result
	Took    time.Duration // the whole run, without the diagnosis of failures
	// Hooks are the results of the hooks that ran around the plan, in the
	// order in which they ran.
	Hooks []Result
	// OutOfTime is set when the run's timeout expired before everything was
	// done.
	OutOfTime bool
}

// Count returns the number of resources that ended in a state.
func (s Summary) Count(state State) int {
	n := 0
	for _, r := range s.Results {
		if r.State == state {
			n++
		}
	}
	return n
}

// Assumed returns the number of resources that are ready by assumption only:
// nothing in their status says so.
func (s Summary) Assumed() int {
	n := 0
	for _, r := range s.Results {
		if r.Assumed {
			n++
		}
	}
	return n
}

// Append joins the summary with that of a run that followed. It is out of time if
// either is.
func (s Summary) Append(next Summary) Summary {
	return Summary{
		Results: append(slices.Clone(s.Results), next.Results...), Took: s.Took + next.Took,
		Hooks:     append(slices.Clone(s.Hooks), next.Hooks...),
		OutOfTime: s.OutOfTime || next.OutOfTime,
	}
}

// Unchanged returns the number of resources for which nothing was sent.
func (s Summary) Unchanged() int {
	n := 0
	for _, r := range s.Results {
		if r.Unchanged {
			n++
		}
	}
	return n
}

// TimedOutOnly reports whether the run failed by timeouts only, so that waiting
// longer, or another run, may help.
func (s Summary) TimedOutOnly() bool {
	hooks := Summary{Results: s.Hooks}
	return (s.OutOfTime || s.Count(TimedOut)+hooks.Count(TimedOut) > 0) && s.Count(Failed)+hooks.Count(Failed) == 0
}
