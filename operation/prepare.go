package operation

import (
	"context"
	"fmt"
	"os"

	"github.com/ordapply/ordapply/internal/cli/abortable"
	"github.com/ordapply/ordapply/internal/cli/connect"
	"github.com/ordapply/ordapply/internal/cli/console"
	"github.com/ordapply/ordapply/internal/cli/input"
	"github.com/ordapply/ordapply/internal/cli/report"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/ordering"
	"github.com/ordapply/ordapply/state"
	"github.com/ordapply/ordapply/state/history"
)

// prepare does everything that comes before the first write.
func (a *Apply) prepare(ctx context.Context, c *console.Console, files *report.Files) (session, error) {
	j, err := a.newSession(ctx, c, files)
	if err != nil {
		return j, err
	}
	source := a.source()
	source.NoWait, source.DropText, source.Outcome = !a.Wait, true, "nothing was applied"
	connected, cancel := context.WithCancel(ctx)
	defer cancel()
	connecting := abortable.Start(connected, func() (*connect.Target, error) {
		t, err := connect.To(connected, c, a.Cluster, files.Watch)
		if err == nil && a.DryRun != "client" {
			t.AskPermissions(connected)
		}
		return t, err
	})
	inputs, options, err := source.ReadAll(ctx, c, connect.ScopeOf(a.Cluster, a.Set))
	if err != nil {
		return j, err
	}
	if err := input.UseHealthRules(ctx, c, j.assessor, a.Order); err != nil {
		return j, err
	}
	if j.target, err = connecting(); err != nil {
		return j, err
	}
	gvk, parent, err := connect.UseSet(ctx, j.target, a.Set)
	if err != nil {
		return j, err
	}
	if a.Set != "" && a.DryRun == "none" && !a.checks { // for the run, while the stream is planned
		set := state.SetRef{Cluster: j.target.Cluster, Parent: parent, Kind: gvk, Namespace: j.target.RecordsNamespace}
		j.ahead = set.ReadAhead(ctx, a.TakeOver)
	}
	if j.stream, j.plan, err = source.PlanStream(inputs, j.target.Scope, &options, j.target); err != nil {
		return j, err
	}
	if j.planned = a.Plan; j.planned != nil {
		if err := j.planned.CheckHooks(j.stream.Hooks); err != nil {
			return j, err
		}
		j.plan.Notes = append(j.plan.Notes, j.planned.Notes()...)
	}
	j.atomic = state.AtomicStacks(j.plan, options.Stacks)
	if j.metadata, err = a.revisionMetadata(ctx, c, options); err != nil {
		return j, err
	}
	if j.ungated, err = input.Gates(j.plan, j.stream, a.Wait); err != nil || a.DryRun == "client" {
		return j, err
	}
	return j, a.checkPermissions(ctx, j)
}

// revisionMetadata returns the history's metadata of a run, besides its plan and stream: how
// the plan was built.
func (a *Apply) revisionMetadata(ctx context.Context, c *console.Console, options ordering.Options) (state.RevisionMetadata, error) {
	m := state.RevisionMetadata{Revision: history.Revision{Options: options, Origin: history.Origin{Commit: commit(os.Getenv), Message: a.Message}}, Limit: a.Limit, Keep: history.Keep(a.Secrets)}
	if a.Order == "" {
		return m, nil
	}
	text, err := c.ReadFile(ctx, a.Order, "--order")
	m.Revision.OrderFile = string(text)
	return m, err
}

// checkPermissions checks that the account has all permissions that a session requires.
func (a *Apply) checkPermissions(ctx context.Context, j session) error {
	back, err := a.undoTarget(ctx, j)
	if err != nil {
		return fmt.Errorf("read the revision to roll back to on failure: %w", err)
	}
	flags := a.RolesFlags(j.target.Scope.Namespace)
	if len(j.atomic) > 0 && !a.RollbackOnFailure {
		flags = append(flags, "--rollback-on-failure") // which includes the permissions of atomic stacks
	}
	required := func() []kube.Permission {
		return append(a.permissions(ctx, j), a.undoPermissions(ctx, j, back)...)
	}
	return j.target.CheckPermissions(ctx, required, flags...)
}
