package status

import (
	"cmp"
	"context"
	"fmt"

	"github.com/ordapply/ordapply/health"
	"github.com/ordapply/ordapply/internal/cli/console"
	"github.com/ordapply/ordapply/internal/cli/report"
	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/state/history"
)

// Read returns the status of the set, and as the error why the set is not ready.
func (o *Observer) Read(ctx context.Context) (Document, error) {
	now, err := o.observe(ctx)
	if err != nil {
		return Document{}, err
	}
	return now.inJSON(), now.fault()
}

// Print prints the status of the set as text or json, and returns why the set is not ready.
func (o *Observer) Print(ctx context.Context, c *console.Console, output string) error {
	now, err := o.observe(ctx)
	if err != nil {
		return err
	}
	if output == "json" {
		err = WriteJSON(c.Out, now.inJSON())
	} else {
		err = now.print(c.Out)
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

// pending reports whether the run of the newest revision has not ended, or was killed.
func (s *setStatus) pending() bool { return s.Revision != nil && s.Revision.Status == history.Pending }

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
