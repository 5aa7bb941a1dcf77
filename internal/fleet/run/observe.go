package run

import (
	"cmp"
	"context"
	"errors"
	"io"

	"github.com/ordapply/ordapply/internal/cli/report"
	"github.com/ordapply/ordapply/internal/fleet"
	"github.com/ordapply/ordapply/operation"
)

// observer returns the function that looks at the apply set of a cluster; nil without a set.
func (r *runner) observer(op operation.Apply) func(context.Context, fleet.Cluster) fleet.Observation {
	if op.Set == "" {
		return nil
	}
	return func(ctx context.Context, of fleet.Cluster) fleet.Observation {
		status := operation.NewStatus()
		status.Set, status.Health, status.StatusGrace, status.Cluster = op.Set, op.Health, op.StatusGrace, on(of, op.Cluster)
		now, err := status.Read(ctx, r.console.Share(io.Discard, io.Discard, nil))
		if now.Total == 0 {
			return fleet.Observation{Err: errOf(err)}
		}
		seen := fleet.Observation{Ready: err == nil, Since: now.Deployed, Revision: now.Revision}
		if err != nil {
			seen.Why = cmp.Or(now.Unready(), err.Error())
		}
		return seen
	}
}

func errOf(err error) error {
	if err == nil {
		return errors.New("the apply set has no members")
	}
	return err
}

// stateOf returns how a run ended by its error.
func stateOf(err error) fleet.State {
	switch report.ExitCode(err) {
	case report.ExitDone:
		return fleet.Done
	case report.ExitTimedOut:
		return fleet.TimedOut
	case report.ExitInterrupted:
		return fleet.Interrupted
	}
	return fleet.Failed
}
