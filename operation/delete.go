package operation

import (
	"context"
	"errors"
	"time"

	"k8s.io/cli-runtime/pkg/genericclioptions"

	"github.com/ordapply/ordapply/internal/cli/console"
	"github.com/ordapply/ordapply/internal/cli/input"
	"github.com/ordapply/ordapply/internal/cli/report"
	"github.com/ordapply/ordapply/internal/cli/usage"
	"github.com/ordapply/ordapply/operation/option"
)

// Delete deletes the objects of manifests, or an apply set with its members, in reverse order.
type Delete struct {
	option.Manifests
	option.Planning
	option.View
	option.Limits
	// Cluster selects the cluster, as kubectl's flags do.
	Cluster *genericclioptions.ConfigFlags
	// Set is an apply set to delete instead of the objects of manifests.
	Set string
	// IgnoreNotFound succeeds if the apply set does not exist.
	IgnoreNotFound bool
	// LockTimeout bounds the wait for another run on the same apply set; 0: do not wait.
	LockTimeout time.Duration
	// DryRun is none, client or server.
	DryRun string
	// Output is the format of standard output: text, name or json.
	Output string
	// Wait waits until resources are gone; without it, others wait only until a deletion is
	// accepted.
	Wait bool
	// Diagnosis reports what blocks the deletion of resources that are not gone.
	Diagnosis bool
	// PruneNamespaces deletes Namespaces with all their contents.
	PruneNamespaces bool
	// Yes deletes without confirmation.
	Yes bool
}

// NewDelete returns the default options.
func NewDelete() Delete {
	return Delete{
		Planning: option.Planning{Hooks: "run"}, Limits: option.Limits{WaveTimeout: 5 * time.Minute}, Cluster: genericclioptions.NewConfigFlags(true),
		LockTimeout: 30 * time.Second, DryRun: "none", Output: "text", Wait: true, Diagnosis: true,
	}
}

// RunOn deletes. It returns the errors of the run, which the outputs of the operation have, too.
func (op Delete) RunOn(ctx context.Context, c *console.Console) error {
	if err := op.check(); err != nil {
		return err
	}
	files, err := report.OpenFiles(ctx, c.Command, op.View, report.SeriesLabels(ctx, op.Cluster, op.Set, op.MetricsLabels))
	if err != nil {
		return err
	}
	if op.Set != "" {
		return report.Reported(op.deleteSet(ctx, c, files))
	}
	prepared, err := op.prepare(ctx, c, files)
	if err == nil {
		err = op.confirm(ctx, c, prepared, c.Err)
	}
	if err != nil {
		return report.Reported(report.Unstarted(c.Out, op.Output, files, err))
	}
	return report.Reported(op.execute(ctx, c, prepared))
}

// check returns an error for options that are invalid or exclude each other.
func (op *Delete) check() error {
	if err := errors.Join(usage.OneOf("output", op.Output, "text", "name", "json"), usage.OneOf("dry-run", op.DryRun, "none", "client", "server")); err != nil {
		return err
	}
	switch {
	case op.Set == "":
	case len(op.Files) > 0 || op.Kustomize != "" || op.Selector != "" || op.Order != "":
		return usage.Errorf("--applyset deletes all members of the set, in their recorded order: leave out -f, -k, -l and --order")
	case !op.Wait:
		return usage.Errorf("--wait=false: an apply set is deleted only when its members are gone")
	}
	return nil
}

// source returns the reader and planner of the stream.
func (op *Delete) source() input.Source {
	return input.Source{Manifests: op.Manifests, Planning: op.Planning, DropText: true, Outcome: "nothing was deleted"}
}

// execute deletes, or prints the order of deletion, and reports events.
func (op *Delete) execute(ctx context.Context, c *console.Console, prepared deletion) error {
	outputs := report.OpenOutputs(c)
	defer outputs.Close(ctx)
	if op.DryRun == "client" {
		return op.show(c, outputs.Out, prepared)
	}
	reporters := op.report(ctx, c, prepared, outputs)
	reporters.Begin()
	c.Log.Plan(prepared.order.Plan())
	defer reporters.NotifyInterrupt(ctx, c, outputs.Err)()
	summary, err := op.deleteAround(ctx, prepared, reporters)
	ended, err := prepared.files.Ended(summary, prepared.target.Warnings.List(), report.WithTimeout(summary, report.WithInterrupt(ctx, err)))
	reporters.End(ended)
	return err
}
