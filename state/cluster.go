package state

import (
	"github.com/ordapply/ordapply/state/history"
	"github.com/ordapply/ordapply/state/lease"
	"github.com/ordapply/ordapply/state/set"
)

// Cluster is the set of API server calls that runs on sets need.
type Cluster interface {
	set.Cluster
	history.Cluster
	lease.Cluster
}
