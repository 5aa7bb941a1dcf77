package operation

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/health"
	"github.com/ordapply/ordapply/internal/cli/connect"
	"github.com/ordapply/ordapply/internal/cli/console"
	"github.com/ordapply/ordapply/internal/cli/input"
	"github.com/ordapply/ordapply/internal/cli/plan"
	"github.com/ordapply/ordapply/internal/cli/report"
	"github.com/ordapply/ordapply/internal/cli/status"
	"github.com/ordapply/ordapply/internal/cli/usage"
	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/internal/view/drawing"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
	"github.com/ordapply/ordapply/state"
	"github.com/ordapply/ordapply/state/history"
)

// session is a prepared run.
type session struct {
	target   *connect.Target
	stream   *apply.Stream
	plan     *ordering.Plan
	metadata state.RevisionMetadata // for the history of an apply set
	schedule apply.Schedule
	assessor *health.Assessor
	ungated  func(object.ID) bool
	files    *report.Files
	atomic   []state.AtomicStack
	planned  *PlanFile    // the plan that must still be valid; nil without one
	ahead    *state.Ahead // of the apply set; nil: the run reads it
	// precondition is checked under the lock, before the first write; nil means no
	// check.
	precondition func(context.Context) error
}

// newSession returns a session with the settings that depend on options only.
func (a *Apply) newSession(ctx context.Context, c *console.Console, files *report.Files) (j session, err error) {
	j.files = files
	go health.ReadBuiltin() // while the stream is read
	if a.DryRun != "none" && a.DryRun != "client" && a.DryRun != "server" {
		return j, usage.Errorf("--dry-run=%s: write none, client or server", a.DryRun)
	}
	if j.schedule, err = apply.ParseSchedule(a.Schedule); err != nil {
		return j, usage.Errorf("--schedule: %w", err)
	}
	j.assessor, err = input.Assessor(ctx, c, a.Health)
	return j, err
}

// setRun returns the run of a session on its cluster. Messages go to w.
func (a *Apply) setRun(j session, w io.Writer) setRun {
	return setRun{membership: a.Membership, lockTimeout: a.LockTimeout, target: j.target, stream: j.stream, plan: j.plan, metadata: j.metadata, messages: w}
}

// execution is a running session with its applier and reporters.
type execution struct {
	session
	applier   apply.Applier
	reporters *report.Reporters
	notes     io.Writer
	wayBack   *string // the remedy after a failure that was not undone
}

// openSet returns a run of the apply set that is reported as it goes.
func (a *Apply) openSet(ctx context.Context, e execution) (state.Run, error) {
	run, err := a.setRun(e.session, e.notes).open(ctx, e.applier)
	run.OnNotUndone = func(revision int, command string) {
		*e.wayBack = fmt.Sprintf("to go back to revision %d: %s", revision, command)
	}
	run.OnExisting = func(existing []event.Existing, orders []string) error { return a.checkOrder(e, existing, orders) }
	run.Last, run.Ahead = !a.followed, e.ahead
	user, account := "", run.Metadata.User
	run.Metadata.User = func(ctx context.Context) string {
		user = account(ctx)
		return user
	}
	run.OnRevision = func(number int) { e.reporters.Revision(number, user) }
	run.OnLastRun, run.OnPruning, run.Remover.Events = e.reporters.LastRun, e.reporters.Extend, e.reporters.Event
	return run, err
}

// revisionSession returns the session that applies a revision; flag is the flag with which
// rbac prints its permissions.
func (a *Apply) revisionSession(ctx context.Context, j session, r *history.Revision, flag string) (session, error) {
	if err := sameCluster(ctx, j.target, r); err != nil {
		return j, err
	}
	if err := status.UseRulesOf(j.assessor, r); err != nil {
		return j, err
	}
	j.planned, j.ahead = nil, nil
	j.stream, j.plan = &apply.Stream{Resources: r.Resources, Objects: r.Objects(), Hooks: r.Hooks}, r.Plan
	j.metadata = state.RevisionMetadata{Limit: a.Limit, Keep: history.Keep(a.Secrets), Revision: history.Revision{
		Options: r.Options, OrderFile: r.OrderFile, Rollback: r.Number, Origin: history.Origin{Commit: r.Commit, Message: a.Message},
	}}
	var err error
	if j.ungated, err = input.Gates(j.plan, j.stream, a.Wait); err != nil || a.DryRun == "client" {
		return j, err
	}
	return j, j.target.CheckPermissions(ctx, func() []kube.Permission { return a.permissions(ctx, j) },
		"-f", "MANIFESTS", "-n", j.target.Scope.Namespace, "--applyset", a.Set, flag)
}

// sameCluster returns an error if a revision was applied to another cluster, as
// after restoring a backup.
func sameCluster(ctx context.Context, t *connect.Target, r *history.Revision) error {
	id, err := kube.ClusterID(ctx, t.Cluster)
	if err != nil || r.Cluster == "" || id == "" || r.Cluster == id {
		return err
	}
	return fmt.Errorf("revision %d was applied to another cluster (its kube-system namespace has uid %s, that of %s has %s): apply the stream itself to this one", r.Number, r.Cluster, t, id)
}

// printPlan prints a plan in a format of --output; as text in a style, and as names the
// resources that named selects.
func printPlan(w io.Writer, output string, planned *ordering.Plan, how plan.Style, named func(object.ID) bool) error {
	switch output {
	case "json":
		return drawing.PlanJSON(w, planned)
	case "name":
		var b strings.Builder
		for _, s := range planned.Steps {
			if named(s.ID) {
				plain.Fprintln(&b, report.ResourceName(s.ID))
			}
		}
		_, err := io.WriteString(w, b.String())
		return err
	}
	return plan.WriteWaves(w, planned, how)
}
