package state

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/apply/track"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/state/history"
	"github.com/ordapply/ordapply/state/lease"
	"github.com/ordapply/ordapply/state/set"
)

// Set is an apply set on a cluster.
type Set = set.Set

// Members are the live members of a set.
type Members = set.Members

// Open reads the parent of a set, which need not exist; gvk is its kind. It returns
// an error for a parent of another tool, unless takeOver is set, for an object
// that is used for something else, and when the API server does not serve gvk.
func Open(ctx context.Context, cluster Cluster, gvk schema.GroupVersionKind, id object.ID, takeOver bool) (*Set, error) {
	return set.Open(ctx, cluster, gvk, id, takeOver)
}

// History is the revisions of an apply set.
type History = history.History

// Vouchers are the revisions that the parent of a set vouches for; Set.Vouchers returns them.
type Vouchers = history.Vouchers

// Revision is a stream that was applied, with the order in which it was applied.
type Revision = history.Revision

// Origin is who stored a revision, from what, and why.
type Origin = history.Origin

// RunTimes is how long a run took.
type RunTimes = track.RunTimes

// Record is what the run of a revision did.
type Record = history.Record

// Outcome is how the run of a revision ended.
type Outcome = history.Outcome

// Keep says which values of Secrets a history keeps.
type Keep = history.Keep

// The values of Keep.
const (
	KeepInNamespace = history.KeepInNamespace
	KeepNone        = history.KeepNone
)

// RollbackTarget is where a rollback goes.
type RollbackTarget = history.RollbackTarget

// Entry is one revision of a listing.
type Entry = history.Entry

// Status is the outcome of the run that applied a revision.
type Status = history.Status

// The statuses of a revision.
const (
	Pending    = history.Pending    // its run is in progress, or was killed
	Deployed   = history.Deployed   // all of it became ready
	Failed     = history.Failed     // its run ended in any other way
	Superseded = history.Superseded // it was deployed, and so was a later one
)

// DefaultLimit is the number of revisions that are kept by default.
const DefaultLimit = history.DefaultLimit

// HeldError reports which run holds the lock of a set.
type HeldError = lease.HeldError

// LockLostError is the error of a run that lost its lock.
type LockLostError = lease.LostError
