package main

import (
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/internal/events"
	"github.com/ordapply/ordapply/internal/terminal"
	"github.com/ordapply/ordapply/ordering"
	"github.com/ordapply/ordapply/state"
)

// dissolve deletes an apply set with all its members, in the reverse of the
// order that its history remembers.
func (f *deleteFlags) dissolve(cmd *cobra.Command) error {
	t, err := connect(f.cluster, func(*rest.Config) {})
	if err != nil {
		return err
	}
	gvk, id, err := t.parent(cmd.Context(), f.set)
	if err != nil {
		return err
	}
	outputs := openOutputs(cmd)
	defer outputs.close(cmd.Context())
	var told tellers
	d := state.Dissolution{
		Cluster: t.cluster, Parent: id, Kind: gvk, Namespace: t.home, LockTimeout: f.lockTimeout,
		Waiting: waitingFor(f.set, outputs.err),
		Remover: f.remover(t, func(e apply.Event) { told.event(e) }),
		Planned: func(order *ordering.Deletion) {
			told = f.tellers(deletion{target: t, order: order}, outputs)
			told.begin()
		},
	}
	order, live, err := d.Order(cmd.Context())
	if err != nil {
		return err
	}
	if f.dryRun == "client" {
		return f.show(outputs.out, deletion{target: t, order: order, live: live})
	}
	if err := t.permit(cmd.Context(), func() []apply.Permission { return d.Permissions(live, apply.KindsOf(t.cluster)) }, "-f", "MANIFESTS", "--applyset", f.set, "--delete"); err != nil {
		return err
	}
	summary, err := d.Do(cmd.Context())
	err = timedOut(summary, err)
	ended := outcome(summary, t.warnings.list(), err)
	switch {
	case told != nil:
		told.end(ended)
	case f.output == "json":
		events.NewLog(outputs.out).End(ended)
	}
	if err == nil && f.dryRun == "none" {
		fmt.Fprintf(outputs.err, "apply set %s is no more\n", terminal.Plain(f.set))
	}
	return err
}
