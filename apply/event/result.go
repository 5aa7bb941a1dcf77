package event

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/ordapply/ordapply/object"
)

// Result is the outcome of one resource.
type Result struct {
	ID      object.ID
	Layer   string     // the layer that the resource is in; "" for none
	Wave    int        // index into the plan's waves
	State   State      // a final one
	Waiting WaitReason // why it waited when the run ended; none for most
	// Detail is the reason for the outcome, or for the last wait.
	Detail string
	Err    error // an *Error with state Failed or TimedOut, else nil
	// Unchanged is set when nothing was sent: the object was as it had been
	// applied before, or did not exist when it was to be deleted.
	Unchanged      bool
	Assumed        bool // ready, though its status does not say so
	Unready        bool // Applied, not ready when the next hooks were due
	FailedAttempts int  // failed attempts to apply it
	// Recreated is set once the deletion of the existing object, to create it again, was
	// accepted. Its State says whether it was created again.
	Recreated bool
	Hook      string // the event at which a hook ran; "" for a resource of the plan
	Origin
	FieldOwners
	Times
}

// Origin is the proven state of an object before the run.
type Origin struct {
	Absent  bool // it did not exist when the run began
	Member  bool // it existed, as a member of the set
	Adopted bool // it existed, and was not a member of the set
	// Created is the uid of the object that the run is proven to have created;
	// "" when it did not, when that is unknown, or when its PATCH was not
	// answered.
	Created types.UID
	Former  Former // of an object that existed
}

// Former is the owner of an object before the run that adopts it.
type Former struct {
	UID types.UID // of the object
	Set string    // the id of another set that it was a member of; "" for none
	// Managers are the field managers that made it a member of that set; of an object
	// of no set, all that had written it.
	Managers []string
}

// Existing is the proven state of an object before the run.
type Existing struct {
	ID object.ID
	Origin
	Known bool // it is known whether it existed
	// WrittenBySet is set for a member that only field managers of the set have written:
	// a run of the set created it.
	WrittenBySet bool
	// Layer is the layer of a SortOrder in which the object was applied last, as its annotation
	// says; "" for none.
	Layer string
}

// Times are the stages of a resource in a run. A time is zero when the resource did not
// get that far.
type Times struct {
	Sent    time.Time // its first request was sent, or was due
	Applied time.Time // the answer to its PATCH; from then on it waits to be ready
	Done    time.Time // its final state
}

// Took returns the time from the first request until now, or until the final state if that
// is reached; 0 if nothing was sent.
func (t Times) Took(now time.Time) time.Duration {
	switch {
	case t.Sent.IsZero():
		return 0
	case !t.Done.IsZero():
		return t.Done.Sub(t.Sent)
	}
	return now.Sub(t.Sent)
}

// Took returns the time from the first PATCH of the resource to its final
// state; 0 if nothing was sent.
func (r Result) Took() time.Duration { return r.Times.Took(r.Done) }

// Summary is the outcome of a run, with one result per step in plan order.
type Summary struct {
	Results []Result
	Took    time.Duration // the whole run, without the diagnosis of failures
	// Waves is how long each wave of the plan took, in their order; 0 for a wave that was not
	// completed, and with schedule Graph, which has none.
	Waves []time.Duration
	// Hooks are the results of the hooks that ran around the plan, in the
	// order in which they ran.
	Hooks []Result
	// OutOfTime is set when the run's timeout expired before everything was
	// done.
	OutOfTime bool
}

// Counts is the number of resources by state.
type Counts map[State]int

// Text lists the numbers, successes first: "3 ready, 1 failed". words replace the name of a
// state; nil replaces none.
func (c Counts) Text(words map[State]string) string {
	var parts []string
	for _, state := range []State{
		Ready, Applied, Deferred, Deleted, Kept, Waiting, Applying, Deleting, Pending,
		Unsettled, Failed, TimedOut, Skipped, NotStarted,
	} {
		if n := c[state]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, cmp.Or(words[state], state.Words())))
		}
	}
	return strings.Join(parts, ", ")
}

// Counts returns the number of resources by final state.
func (s Summary) Counts() Counts {
	counts := Counts{}
	for _, r := range s.Results {
		counts[r.State]++
	}
	return counts
}

// Count returns the number of resources that ended in a state.
func (s Summary) Count(state State) int { return s.Counts()[state] }

// Assumed returns the number of resources that are ready by assumption only:
// nothing in their status says so.
func (s Summary) Assumed() int { return s.count(func(r Result) bool { return r.Assumed }) }

// Unchanged returns the number of resources for which nothing was sent, because the object
// was as applied before.
func (s Summary) Unchanged() int {
	return s.count(func(r Result) bool { return r.Unchanged && r.State != Deleted })
}

// Absent returns the number of resources that did not exist when they were to be deleted.
// Their State is Deleted.
func (s Summary) Absent() int {
	return s.count(func(r Result) bool { return r.Unchanged && r.State == Deleted })
}

// count returns the number of results that are so.
func (s Summary) count(is func(Result) bool) int {
	n := 0
	for _, r := range s.Results {
		if is(r) {
			n++
		}
	}
	return n
}

// OwnerNotes describes the run's findings about other field managers.
func (s Summary) OwnerNotes() []string {
	var found []OwnedFields
	for i := range s.Results {
		if r := &s.Results[i]; r.FieldOwners.some() {
			found = append(found, OwnedFields{r.ID, r.FieldOwners})
		}
	}
	return OwnerNotes(found, false)
}

// Append joins the summary with that of the next run. It is out of time if either
// is; Waves are of the first only.
func (s Summary) Append(next Summary) Summary {
	if len(next.Results)+len(next.Hooks) == 0 { // a copy of many results takes memory
		s.Took, s.OutOfTime = s.Took+next.Took, s.OutOfTime || next.OutOfTime
		return s
	}
	return Summary{
		Results: append(slices.Clone(s.Results), next.Results...), Took: s.Took + next.Took, Waves: s.Waves,
		Hooks:     append(slices.Clone(s.Hooks), next.Hooks...),
		OutOfTime: s.OutOfTime || next.OutOfTime,
	}
}

// TimedOutOnly reports whether the run failed by timeouts only, so that waiting
// longer, or another run, may help.
func (s Summary) TimedOutOnly() bool {
	hooks := Summary{Results: s.Hooks}
	return (s.OutOfTime || s.Count(TimedOut)+hooks.Count(TimedOut) > 0) && s.Count(Failed)+hooks.Count(Failed) == 0
}
