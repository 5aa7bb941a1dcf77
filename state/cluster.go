package state

import (
	"github.com/ordapply/ordapply/internal/history"
	"github.com/ordapply/ordapply/internal/lease"
	"github.com/ordapply/ordapply/internal/liveset"
)

// Cluster is the set of API server calls that runs on sets need.
type Cluster interface {
	liveset.Cluster
	history.Cluster
	lease.Cluster
}
