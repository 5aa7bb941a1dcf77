package operation

import (
	"context"
	"errors"
	"time"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/internal/cli/console"
	"github.com/ordapply/ordapply/internal/cli/report"
	"github.com/ordapply/ordapply/internal/cli/usage"
	"github.com/ordapply/ordapply/internal/run/preflight"
	"github.com/ordapply/ordapply/internal/view/events"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/operation/option"
	"github.com/ordapply/ordapply/state/history"
)

// Apply applies a stream to a cluster.
type Apply struct {
	Preview
	option.Health
	option.History
	option.View
	option.Limits
	// LockTimeout bounds the wait for another run on the same apply set; 0: do not wait.
	LockTimeout time.Duration
	// RollbackOnFailure applies the last deployed revision of the apply set again when the run
	// fails, and deletes what it created.
	RollbackOnFailure bool
	// DryRun is none, client or server.
	DryRun string
	// Schedule is waves or graph.
	Schedule string
	// Output is the format of standard output: text, name or json.
	Output string
	// Wait waits until resources are ready; without it, dependents wait only until they are applied.
	Wait bool
	// KeepGoing leaves out what cannot be applied, and applies the rest.
	KeepGoing bool
	// Diagnosis reports why a resource did not become ready.
	Diagnosis bool
	// KindTimeout, CRDTimeout and StatusGrace bound waits of a resource; 0: do not wait, or for
	// CRDTimeout as long as the wave.
	KindTimeout, CRDTimeout, StatusGrace time.Duration
	// Plan is a reviewed plan that is applied exactly as it is, or not at all; nil without one.
	Plan *PlanFile

	to       func(events.RunStart) report.Reporter // instead of the console; nil: the console
	followed bool                                  // something that depends on its resources comes after it
	checks   bool                                  // it is only checked, and no run follows
}

// NewApply returns the default options.
func NewApply() Apply {
	return Apply{
		Preview: NewPreview(), History: option.History{Limit: history.DefaultLimit, Secrets: string(history.KeepInNamespace)},
		Limits: option.Limits{WaveTimeout: 5 * time.Minute}, LockTimeout: 30 * time.Second,
		DryRun: "none", Schedule: "waves", Output: "text", Wait: true, Diagnosis: true,
		KindTimeout: apply.DefaultKindTimeout, CRDTimeout: 30 * time.Second, StatusGrace: 15 * time.Second,
	}
}

// ReportTo returns the operation with another reporter than the console, which still gets the
// messages before the run begins. to is called once, with the first line of the run.
func (a Apply) ReportTo(to func(events.RunStart) report.Reporter) Apply {
	a.to = to
	return a
}

// Followed returns the operation with something after it that depends on its resources, such as
// the next cluster of a fleet: it waits for the status grace of all of them.
func (a Apply) Followed() Apply {
	a.followed = true
	return a
}

// RunOn applies the stream. It returns the errors of the run, which the outputs of the
// operation have, too.
func (a Apply) RunOn(ctx context.Context, c *console.Console) error {
	if err := a.check(); err != nil {
		return err
	}
	return a.runSession(ctx, c, a.prepare)
}

// Check does everything that comes before the first write, and writes nothing: it reads and
// plans the stream, connects, and checks permissions.
func (a Apply) Check(ctx context.Context, c *console.Console) error {
	if err := a.check(); err != nil {
		return err
	}
	a.checks = true
	s, err := a.prepare(ctx, c, &report.Files{})
	if err == nil && !a.KeepGoing { // the run's own checks
		err = preflight.Checks{Cluster: kube.NewReadOnly(s.target.Cluster), Plan: s.plan, KindTimeout: a.KindTimeout}.WithoutReads(s.stream.Objects)
	}
	return err
}

// check returns an error for options that are invalid or exclude each other.
func (a *Apply) check() error {
	source := a.source()
	if err := errors.Join(a.Preview.check(), a.checkHistory(), source.CheckSet(a.Set)); err != nil {
		return err
	}
	if a.Set == "" && a.RollbackOnFailure {
		return usage.Errorf("--rollback-on-failure requires an apply set: name it with --applyset")
	}
	return a.checkWait()
}

// checkHistory rejects invalid options of the history.
func (a *Apply) checkHistory() error {
	if a.Limit < 1 {
		return usage.Errorf("--history-limit=%d: must be at least 1", a.Limit)
	}
	return usage.OneOf("history-secrets", a.Secrets, string(history.KeepInNamespace), string(history.KeepNone))
}

// checkWait rejects options that need readiness in combination with --wait=false.
func (a *Apply) checkWait() error {
	switch {
	case a.KeepGoing && a.RollbackOnFailure:
		return usage.Errorf("--keep-going applies what can be applied, and --rollback-on-failure undoes it: leave out one of them")
	case a.Wait:
	case a.Prune:
		return usage.Errorf("--prune starts only when the whole stream is ready: leave out --wait=false")
	case a.RollbackOnFailure:
		return usage.Errorf("--rollback-on-failure must wait for the stream to become ready: leave out --wait=false")
	}
	return nil
}

// runSession runs the session that prepare returns.
func (a *Apply) runSession(ctx context.Context, c *console.Console, prepare func(context.Context, *console.Console, *report.Files) (session, error)) error {
	if err := usage.OneOf("output", a.Output, "text", "name", "json"); err != nil {
		return err
	}
	files, err := report.OpenFiles(ctx, c.Command, a.View, report.SeriesLabels(ctx, a.Cluster, a.Set, a.MetricsLabels))
	if err != nil {
		return err
	}
	s, err := prepare(ctx, c, files)
	switch {
	case err != nil:
		err = a.unstarted(c, files, err)
	case a.DryRun == "client":
		err = a.printClientDryRun(ctx, c, s)
	default:
		err = a.execute(ctx, c, s)
	}
	return report.Reported(err)
}

// unstarted reports the end of a run without a plan.
func (a *Apply) unstarted(c *console.Console, files *report.Files, err error) error {
	if a.to == nil {
		return report.Unstarted(c.Out, a.Output, files, err)
	}
	ended, err := files.Ended(event.Summary{}, nil, err)
	a.to(events.RunStart{}).End(ended)
	return err
}

// applier returns the Applier for a session, as the options configure it.
func (a *Apply) applier(s session, onEvent func(event.Event)) apply.Applier {
	return apply.Applier{
		Cluster:        s.files.Of(s.target.Cluster),
		Schemas:        s.target.Schemas,
		Manager:        a.FieldManager,
		Namespace:      s.target.Scope.Namespace,
		ForceConflicts: applyset.Force(a.ForceConflicts),
		DryRun:         a.DryRun == "server",
		KeepGoing:      a.KeepGoing,
		Schedule:       s.schedule,
		Timeout:        a.Timeout,
		WaveTimeout:    orNone(a.WaveTimeout),
		KindTimeout:    orNone(a.KindTimeout),
		CRDTimeout:     orNone(a.CRDTimeout),
		StatusGrace:    orNone(a.StatusGrace),
		Health:         s.assessor,
		NoDiagnosis:    !a.Diagnosis,
		SkipWait:       s.ungated,
		Events:         onEvent,
	}
}

// orNone converts a duration for package apply, where 0 means the default and
// negative values mean none.
func orNone(d time.Duration) time.Duration {
	if d == 0 {
		return -1
	}
	return d
}
