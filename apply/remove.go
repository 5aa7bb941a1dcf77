package apply

import (
	"cmp"
	"context"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// Remover deletes live objects, wave by wave: the next wave opens when all of
// one are gone. It deletes what was read and nothing else: an object that has
// changed since is read again first, and one that took the place of another is
// kept. The zero value of each optional field is the documented default.
type Remover struct {
	Cluster Cluster // required
	// Workers bounds the requests in flight; default 32.
	Workers int
	// Timeout bounds the run; default none.
	Timeout time.Duration
	// WaveTimeout bounds each wave; default 5m, negative: none.
	WaveTimeout time.Duration
	// DryRun lets the server check every deletion and deletes nothing.
	DryRun bool
	// NoWait opens the next wave when the deletions of one are accepted.
	NoWait bool
	// PruneNamespaces deletes Namespaces with whatever is in them, but for what is
	// protected in this removal; default: one that holds what does not go in this
	// run is kept.
	PruneNamespaces bool
	// Keep says of a live object why it must not be deleted; "" when it may.
	// It is asked again of an object that has changed meanwhile. What the
	// annotations of applyset.Protection keep is kept in any case.
	Keep func(live *unstructured.Unstructured) string
	// Unprotected deletes also what annotations of applyset.Protection keep.
	Unprotected bool
	// Spare tells which objects in a Namespace do not keep it, of which no more
	// than the metadata is known: such as an apply set's own records.
	Spare func(found *unstructured.Unstructured) bool
	// Before is called before each request to delete an object, perhaps for
	// several at once; its error is the request's. Default: nothing.
	Before func(context.Context, object.ID) error
	// Set is the id of the apply set that the live objects are members of, by whose
	// label they are watched; default: they are of none.
	Set string
	// NoDiagnosis leaves it unasked who should let go of what is not gone.
	NoDiagnosis bool
	// Events takes every transition, always from one goroutine; default:
	// discard.
	Events func(Event)
}

// Run deletes the live objects in the order given and returns when each is in a
// final state: Deleted when it is gone or was not there, Kept when it must stay.
// Of live objects no more than their metadata and kinds must be known. The error
// joins all failures in the order of the deletion, each an *Error; it is
// ErrInterrupted when ctx ended the run.
func (m Remover) Run(ctx context.Context, order *ordering.Deletion, live map[object.ID]*unstructured.Unstructured) (Summary, error) {
	return newRemoval(m.withDefaults(), order, live).execute(ctx)
}

func (m Remover) withDefaults() Remover {
	if m.Workers <= 0 {
		m.Workers = 32
	}
	if m.WaveTimeout == 0 {
		m.WaveTimeout = 5 * time.Minute
	}
	if m.Keep == nil {
		m.Keep = func(*unstructured.Unstructured) string { return "" }
	}
	if m.Spare == nil {
		m.Spare = func(*unstructured.Unstructured) bool { return false }
	}
	if m.Before == nil {
		m.Before = func(context.Context, object.ID) error { return nil }
	}
	if m.Events == nil {
		m.Events = func(Event) {}
	}
	return m
}

// kept is why a live object must not be deleted; "" when it may.
func (m Remover) kept(live *unstructured.Unstructured) string {
	why := ""
	if protection := applyset.Protection(live); protection != "" && !m.Unprotected {
		why = "its annotation " + protection + " keeps it"
	}
	return cmp.Or(why, m.Keep(live))
}
