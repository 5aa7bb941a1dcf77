package operation

import (
	"context"
	"errors"
	"fmt"

	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/internal/cli/connect"
	"github.com/ordapply/ordapply/internal/cli/console"
	"github.com/ordapply/ordapply/internal/cli/report"
	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/internal/view/events"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/ordering"
	"github.com/ordapply/ordapply/state"
)

// deleteSet deletes an apply set with all its members, in reverse of the order
// stored in its history.
func (op *Delete) deleteSet(ctx context.Context, c *console.Console, files *report.Files) error {
	outputs := report.OpenOutputs(c)
	defer outputs.Close(ctx)
	var reporters *report.Reporters // nil until the order is known
	summary, warned, err := op.runSetDeletion(ctx, c, files, outputs, &reporters)
	if op.DryRun == "client" && err == nil {
		return nil
	}
	unknown := new(state.UnknownError)
	absent := op.IgnoreNotFound && errors.As(err, &unknown)
	if absent {
		err = nil
		plain.Fprintf(outputs.Err, "apply set %s not found\n", op.Set)
	}
	ended, err := files.Ended(summary, warned, report.WithTimeout(summary, report.WithInterrupt(ctx, err)))
	switch {
	case reporters != nil:
		reporters.End(ended)
	case op.Output == "json":
		events.NewLog(outputs.Out, events.RunStart{}).End(ended)
	}
	if err == nil && !absent && op.DryRun == "none" {
		plain.Fprintf(outputs.Err, "apply set %s deleted\n", op.Set)
	}
	return err
}

// runSetDeletion deletes the set, or prints the order of deletion. It returns the
// API server's warnings.
func (op *Delete) runSetDeletion(ctx context.Context, c *console.Console, files *report.Files, outputs report.Outputs, reporters **report.Reporters) (event.Summary, []string, error) {
	t, err := connect.To(ctx, c, op.Cluster, files.Watch)
	if err != nil {
		return event.Summary{}, nil, err
	}
	summary, err := op.runOn(ctx, c, t, files, outputs, reporters)
	if unknown := new(state.UnknownError); errors.As(err, &unknown) && !op.IgnoreNotFound {
		gvk, id, _ := connect.ParentOf(ctx, t, op.Set)
		if where := connect.Elsewhere(ctx, t, gvk, id); where != "" {
			err = fmt.Errorf("%w; %s", err, where)
		}
	}
	return summary, t.Warnings.List(), connect.ExplainForbidden(err, t, op.Set, "--delete")
}

// runOn deletes the set on a cluster, or prints the order of deletion.
func (op *Delete) runOn(ctx context.Context, c *console.Console, t *connect.Target, files *report.Files, outputs report.Outputs, reporters **report.Reporters) (event.Summary, error) {
	gvk, id, err := connect.ParentOf(ctx, t, op.Set)
	if err != nil {
		return event.Summary{}, err
	}
	known := deletion{target: t, files: files}
	d := state.SetDeletion{
		SetRef: state.SetRef{
			Cluster: t.Cluster, Parent: id, Kind: gvk, Namespace: t.RecordsNamespace, NewHome: t.Scope.Namespace, LockTimeout: op.LockTimeout,
			OnWaiting: waitingFor(op.Set, outputs.Err),
		},
		Remover: op.remover(known, func(e event.Event) { (*reporters).Event(e) }),
		OnNote:  func(text string) { plain.Fprintf(outputs.Err, "note: %s\n", text) },
		OnPlanned: func(order *ordering.Deletion) {
			known.order = order
			*reporters = op.report(ctx, c, known, outputs)
			(*reporters).Begin()
			c.Log.Plan(order.Plan())
			(*reporters).NotifyInterrupt(ctx, c, outputs.Err)
		},
	}
	if op.Hooks == "run" {
		applier := op.hookApplier(t, files, func(e event.Event) { (*reporters).Event(e) })
		d.Hooks = &applier
	}
	order, live, err := d.Order(ctx)
	if err != nil {
		return event.Summary{}, err
	}
	if op.DryRun == "client" {
		return event.Summary{}, op.show(c, outputs.Out, deletion{target: t, order: order, live: live})
	}
	if err := t.CheckPermissions(ctx, func() []kube.Permission { return d.Permissions(ctx, order, live, kube.KindsOf(t.Cluster)) }, "-f", "MANIFESTS", "--applyset", op.Set, "--delete"); err != nil {
		return event.Summary{}, err
	}
	if err := op.confirm(ctx, c, deletion{target: t, order: order, live: live}, outputs.Err); err != nil {
		return event.Summary{}, err
	}
	return d.Do(ctx)
}
