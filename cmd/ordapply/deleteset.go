package main

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/internal/cli/connect"
	"github.com/ordapply/ordapply/internal/cli/report"
	"github.com/ordapply/ordapply/internal/cli/verbose"
	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/internal/view/events"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/ordering"
	"github.com/ordapply/ordapply/state"
)

// deleteSet deletes an apply set with all its members, in reverse of the order
// stored in its history.
func (f *deleteFlags) deleteSet(cmd *cobra.Command, files *report.Files) error {
	outputs := report.OpenOutputs(cmd)
	defer outputs.Close(cmd.Context())
	var reporters *report.Reporters // nil until the order is known
	summary, warned, err := f.runSetDeletion(cmd, files, outputs, &reporters)
	if f.dryRun == "client" && err == nil {
		return nil
	}
	unknown := new(state.UnknownError)
	absent := f.ignoreNotFound && errors.As(err, &unknown)
	if absent {
		err = nil
		plain.Fprintf(outputs.Err, "apply set %s not found\n", f.set)
	}
	ended, err := files.Ended(summary, warned, report.WithTimeout(summary, report.WithInterrupt(cmd.Context(), err)))
	switch {
	case reporters != nil:
		reporters.End(ended)
	case f.output == "json":
		events.NewLog(outputs.Out, events.RunStart{}).End(ended)
	}
	if err == nil && !absent && f.dryRun == "none" {
		plain.Fprintf(outputs.Err, "apply set %s deleted\n", f.set)
	}
	return err
}

// runSetDeletion deletes the set, or prints the order of deletion. It returns the
// API server's warnings.
func (f *deleteFlags) runSetDeletion(cmd *cobra.Command, files *report.Files, outputs report.Outputs, reporters **report.Reporters) (event.Summary, []string, error) {
	t, err := connect.To(cmd.Context(), f.cluster, files.Watch)
	if err != nil {
		return event.Summary{}, nil, err
	}
	summary, err := f.runOn(cmd, t, files, outputs, reporters)
	return summary, t.Warnings.List(), connect.ExplainForbidden(err, t, f.set, "--delete")
}

// runOn deletes the set on a cluster, or prints the order of deletion.
func (f *deleteFlags) runOn(cmd *cobra.Command, t *connect.Target, files *report.Files, outputs report.Outputs, reporters **report.Reporters) (event.Summary, error) {
	gvk, id, err := connect.ParentOf(cmd.Context(), t, f.set)
	if err != nil {
		return event.Summary{}, err
	}
	known := deletion{target: t, files: files}
	d := state.SetDeletion{
		SetRef: state.SetRef{
			Cluster: t.Cluster, Parent: id, Kind: gvk, Namespace: t.RecordsNamespace, NewHome: t.Scope.Namespace, LockTimeout: f.lockTimeout,
			OnWaiting: connect.WaitingFor(f.set, outputs.Err),
		},
		Remover: f.remover(known, func(e event.Event) { (*reporters).Event(e) }),
		OnNote:  func(text string) { plain.Fprintf(outputs.Err, "note: %s\n", text) },
		OnPlanned: func(order *ordering.Deletion) {
			known.order = order
			*reporters = f.report(cmd, known, outputs)
			(*reporters).Begin()
			verbose.Of(cmd.Context()).Plan(order.Plan())
			(*reporters).NotifyInterrupt(cmd.Context(), outputs.Err)
		},
	}
	if f.Hooks == "run" {
		applier := f.hookApplier(t, files, func(e event.Event) { (*reporters).Event(e) })
		d.Hooks = &applier
	}
	order, live, err := d.Order(cmd.Context())
	if err != nil {
		return event.Summary{}, err
	}
	if f.dryRun == "client" {
		return event.Summary{}, f.show(outputs.Out, deletion{target: t, order: order, live: live})
	}
	if err := t.CheckPermissions(cmd.Context(), func() []kube.Permission { return d.Permissions(cmd.Context(), order, live, kube.KindsOf(t.Cluster)) }, "-f", "MANIFESTS", "--applyset", f.set, "--delete"); err != nil {
		return event.Summary{}, err
	}
	if err := f.confirm(cmd, deletion{target: t, order: order, live: live}, outputs.Err); err != nil {
		return event.Summary{}, err
	}
	return d.Do(cmd.Context())
}
