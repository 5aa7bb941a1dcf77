package main

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/internal/events"
	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/ordering"
	"github.com/ordapply/ordapply/state"
)

// deleteSet deletes an apply set with all its members, in reverse of the order
// stored in its history.
func (f *deleteFlags) deleteSet(cmd *cobra.Command, measured *metricsRecorder) error {
	outputs := openOutputs(cmd)
	defer outputs.close(cmd.Context())
	var told reporters // nil until the order is known
	summary, warned, err := f.runSetDeletion(cmd, measured, outputs, &told)
	if f.dryRun == "client" && err == nil {
		return nil
	}
	unknown := new(state.UnknownError)
	absent := f.ignoreNotFound && errors.As(err, &unknown)
	if absent {
		err = nil
		plain.Fprintf(outputs.err, "apply set %s not found\n", f.set)
	}
	err = measured.ended(timedOut(summary, orInterrupted(cmd.Context(), err)))
	ended := outcome(summary, warned, err)
	switch {
	case told != nil:
		told.end(ended)
	case f.output == "json":
		events.NewLog(outputs.out).End(ended)
	}
	if err == nil && !absent && f.dryRun == "none" {
		plain.Fprintf(outputs.err, "apply set %s deleted\n", f.set)
	}
	return err
}

// runSetDeletion deletes the set, or prints the order of deletion. It returns the
// API server's warnings.
func (f *deleteFlags) runSetDeletion(cmd *cobra.Command, measured *metricsRecorder, outputs outputs, told *reporters) (apply.Summary, []string, error) {
	t, err := connect(cmd.Context(), f.cluster, measured.watch)
	if err != nil {
		return apply.Summary{}, nil, err
	}
	gvk, id, err := t.parent(cmd.Context(), f.set)
	if err != nil {
		return apply.Summary{}, nil, err
	}
	known := deletion{target: t, measured: measured}
	d := state.SetDeletion{
		Cluster: t.cluster, Parent: id, Kind: gvk, Namespace: t.home, LockTimeout: f.lockTimeout,
		OnWaiting: waitingFor(f.set, outputs.err),
		Remover:   f.remover(known, func(e apply.Event) { told.event(e) }),
		OnPlanned: func(order *ordering.Deletion) {
			known.order = order
			*told = f.reporters(cmd, known, outputs)
			told.begin()
			verboseLogOf(cmd.Context()).plan(order.Plan())
			told.notifyInterrupt(cmd.Context(), outputs.err)
		},
	}
	if f.hooks == "run" {
		applier := f.hookApplier(t, measured, func(e apply.Event) { told.event(e) })
		d.Hooks = &applier
	}
	order, live, err := d.Order(cmd.Context())
	if err != nil {
		return apply.Summary{}, nil, err
	}
	if f.dryRun == "client" {
		return apply.Summary{}, nil, f.show(outputs.out, deletion{target: t, order: order, live: live})
	}
	if err := t.checkPermissions(cmd.Context(), func() []kube.Permission { return d.Permissions(cmd.Context(), order, live, kube.KindsOf(t.cluster)) }, "-f", "MANIFESTS", "--applyset", f.set, "--delete"); err != nil {
		return apply.Summary{}, nil, err
	}
	summary, err := d.Do(cmd.Context())
	return summary, t.warnings.list(), err
}
