package run

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ordapply/ordapply/internal/cli/report"
	clistatus "github.com/ordapply/ordapply/internal/cli/status"
	"github.com/ordapply/ordapply/internal/fleet"
)

// observer returns the function that looks at the apply set of a cluster, as `ordapply
// status` does; nil without a set.
func (r *runner) observer() func(context.Context, fleet.Cluster) fleet.Observation {
	set := r.value("applyset")
	status, _, err := r.cmd.Root().Find([]string{"status"})
	if set == "" || err != nil {
		return nil
	}
	flags := given(r.cmd.Flags(), func(flag *pflag.Flag) bool { return knows(status, flag.Name) })
	return func(ctx context.Context, c fleet.Cluster) fleet.Observation {
		args := append([]string{"status", set}, flags...)
		args = append(append(args, r.onto(c)...), "--output=json")
		var out bytes.Buffer
		err := r.run(ctx, args, &out, io.Discard)
		var now clistatus.Document
		if json.Unmarshal(out.Bytes(), &now) != nil || now.Total == 0 {
			return fleet.Observation{Err: errOf(err)}
		}
		seen := fleet.Observation{Ready: err == nil, Since: now.Deployed, Revision: now.Revision}
		if err != nil {
			seen.Why = cmp.Or(now.Unready(), err.Error())
		}
		return seen
	}
}

// knows reports whether status has a flag with the meaning that it has for apply.
func knows(status *cobra.Command, flag string) bool {
	return flag != "output" && flag != "watch" && status.Flags().Lookup(flag) != nil
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
