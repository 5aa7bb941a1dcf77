package status

import (
	"cmp"
	"context"
	"time"

	"github.com/ordapply/ordapply/internal/cli/connect"
	"github.com/ordapply/ordapply/state/history"
	"github.com/ordapply/ordapply/state/lease"
)

// withLock returns the description of the newest revision and, while that is pending, who holds the
// lock of the set. A Lease that may not be read is left out.
func withLock(ctx context.Context, t *connect.Target, set connect.Existing, status history.Status, description string) string {
	if status != history.Pending {
		return description
	}
	id := lease.Of(set.Parent.ID, cmp.Or(set.History.Namespace, set.Parent.ID.Namespace))
	lock, err := lease.Describe(ctx, t.Cluster, id, time.Now())
	if err != nil {
		return description
	}
	if description == "" {
		return lock
	}
	return description + "; " + lock
}
