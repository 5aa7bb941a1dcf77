package operation

import (
	"cmp"
	"context"
	"io"
	"time"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/apply/hooks"
	"github.com/ordapply/ordapply/apply/preview"
	"github.com/ordapply/ordapply/apply/remove"
	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/internal/author/hook"
	"github.com/ordapply/ordapply/internal/cli/connect"
	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/operation/option"
	"github.com/ordapply/ordapply/ordering"
	"github.com/ordapply/ordapply/state"
	"github.com/ordapply/ordapply/state/lease"
)

// setRun applies a stream to a cluster, with an apply set or without one.
type setRun struct {
	membership  option.Membership
	lockTimeout time.Duration
	target      *connect.Target
	stream      *apply.Stream
	plan        *ordering.Plan
	metadata    state.RevisionMetadata // for the history
	messages    io.Writer
}

// newNamespace returns the namespace that a run creates if it does not exist; "" for none.
func newNamespace(m option.Membership, target *connect.Target) string {
	if !m.CreateNamespace {
		return ""
	}
	return cmp.Or(target.RecordsNamespace, target.Scope.Namespace)
}

// waitingFor returns a function that prints that another run holds the lock.
func waitingFor(set string, messages io.Writer) func(*lease.HeldError) {
	return func(held *lease.HeldError) {
		plain.Fprintf(messages, "waiting for another run on apply set %s: %s\n", set, held.Who())
	}
}

// open returns the run of the apply set, which reports to no one yet.
func (r setRun) open(ctx context.Context, applier apply.Applier) (state.Run, error) {
	gvk, id, err := connect.ParentOf(ctx, r.target, r.membership.Set)
	applier.Membership.Adopt = applyset.Adopt(r.membership.Adopt)
	applier.NewNamespace = newNamespace(r.membership, r.target)
	r.metadata.User = r.target.User
	return state.Run{
		SetRef: state.SetRef{
			Cluster: r.target.Cluster, Parent: id, Kind: gvk, Namespace: r.target.RecordsNamespace, NewHome: r.target.GivenNamespace,
			LockTimeout: r.lockTimeout, OnWaiting: waitingFor(r.membership.Set, r.messages),
		},
		Applier: applier, Plan: r.plan, Stream: r.stream,
		TakeOver: r.membership.TakeOver, Metadata: r.metadata, Prune: r.membership.Prune,
		Remover: remove.Remover{
			Cluster: applier.Cluster, Workers: applier.Workers, Timeout: applier.Timeout, WaveTimeout: applier.WaveTimeout,
			PruneNamespaces: r.membership.PruneNamespaces,
		},
		Callbacks: state.Callbacks{OnNote: func(text string) { plain.Fprintf(r.messages, "note: %s\n", text) }},
	}, err
}

// preview returns the preview of the run.
func (r setRun) preview(ctx context.Context, applier apply.Applier) (*preview.Preview, error) {
	if r.membership.Set == "" {
		return r.previewWithoutSet(ctx, applier)
	}
	run, err := r.open(ctx, applier)
	if err != nil {
		return nil, err
	}
	return run.Preview(ctx)
}

// previewWithoutSet returns the preview of a run without an apply set, with its hooks.
func (r setRun) previewWithoutSet(ctx context.Context, applier apply.Applier) (*preview.Preview, error) {
	applier.NewNamespace = newNamespace(r.membership, r.target)
	found, err := applier.Preview(ctx, r.plan, r.stream.Objects)
	around := r.around(applier)
	if err != nil || !around.Hooks.OfApply() {
		return found, err
	}
	return found, around.AddTo(ctx, found)
}

// around returns the runner of the hooks of a run without an apply set. It is an install
// or an upgrade depending on whether its objects exist in the cluster.
func (r setRun) around(applier apply.Applier) *hooks.Around {
	all, _ := hook.Read(r.stream.Hooks, r.plan.OrderSource)
	adopt := r.membership.Adopt
	return &hooks.Around{
		Runner: hooks.Runner{Applier: applier, Adopt: adopt == "any", ReplaceMembers: adopt == "any", KeepLeftovers: adopt == "never", Events: applier.Events},
		Hooks:  all, Stream: r.stream, Plan: r.plan,
		Operation: func(ctx context.Context) (hook.Operation, error) {
			operation, _, err := hooks.OperationOf(ctx, applier.Cluster, r.stream)
			return operation, err
		},
	}
}
