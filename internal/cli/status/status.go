package status

import (
	"cmp"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/ordapply/ordapply/health"
	"github.com/ordapply/ordapply/internal/cli/connect"
	"github.com/ordapply/ordapply/internal/cli/input"
	"github.com/ordapply/ordapply/internal/cli/report"
	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/state/history"
)

// statusFlags are the flags of status.
type statusFlags struct {
	connect.Command
	input.HealthFlags
	watch bool
	grace time.Duration
}

// NewCommand returns the command status.
func NewCommand() *cobra.Command {
	var f statusFlags
	cmd := &cobra.Command{
		Use:   "status NAME",
		Short: "Show the health of an apply set, layer by layer",
		Long: `status evaluates the live state of every member of an apply set, and shows the health
of its layers and stacks in the order in which they were applied. A layer is
Failed if a member has failed or is unknown, else Degraded if one is missing,
degraded or being deleted, else Progressing if one is progressing, else Suspended
if one is suspended. The exit code is 0 if all are ready and the
newest revision did not fail, 3 if the others are only Progressing or Suspended, so
that waiting may help, and 1 otherwise. NAME is
the name of the set's parent Secret, or KIND/NAME.

  ordapply status shop
  ordapply status shop --watch    keep running, and show changes`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args[0]) },
	}
	f.Command.Register(cmd)
	f.HealthFlags.Register(cmd.Flags())
	cmd.Flags().BoolVarP(&f.watch, "watch", "w", false, "keep running until interrupted: redraw the table on a terminal, elsewhere print a line per change")
	cmd.Flags().DurationVar(&f.grace, "status-grace", 15*time.Second, "maximum time to wait for a meaningful status of a custom resource before evaluating it without one; 0: do not wait")
	return cmd
}

func (f *statusFlags) run(cmd *cobra.Command, name string) error {
	assessor, err := f.Assessor(cmd.Context())
	if err != nil {
		return err
	}
	t, err := f.Connect(cmd.Context())
	if err != nil {
		return err
	}
	o := &observer{Target: t, name: name, assessor: assessor, grace: f.grace}
	if f.watch {
		return connect.ExplainForbidden(f.follow(cmd, o), t, name, "--status")
	}
	now, err := o.observe(cmd.Context())
	if err != nil {
		return connect.ExplainForbidden(err, t, name, "--status")
	}
	if f.Output == "json" {
		err = WriteJSON(cmd.OutOrStdout(), now.inJSON())
	} else {
		err = now.print(cmd.OutOrStdout())
	}
	if err != nil {
		return err
	}
	return now.fault()
}

// failed reports whether the run of the newest revision failed, or the last run of it.
func (s *setStatus) failed() bool {
	return s.Revision != nil && (s.Revision.Status == history.Failed || s.Revision.Record.Failure != "")
}

// fault returns nil if all members are ready and match the newest revision.
func (s *setStatus) fault() error {
	members := s.members()
	if len(members) == 0 {
		return fmt.Errorf("apply set %s has no members", s.Set.Name)
	}
	if left := len(members) - ready(members); left > 0 {
		all := grade(members)
		err := fmt.Errorf("apply set %s is %s: %d of %s not ready", s.Set.Name, all, left, plain.Count(len(members), "resource"))
		if all <= health.GradeProgressing { // waiting may help
			return report.AsTimeout(err)
		}
		return err
	}
	if s.failed() {
		why := cmp.Or(s.Outcome, "its run did not become ready")
		return fmt.Errorf("apply set %s: the members are ready, but revision %d, the newest, failed: %s; apply again or roll back", s.Set.Name, s.Revision.Number, plain.OneLine(why))
	}
	return nil
}
