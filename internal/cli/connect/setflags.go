package connect

import (
	"cmp"
	"context"
	"io"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/apply/hooks"
	"github.com/ordapply/ordapply/apply/preview"
	"github.com/ordapply/ordapply/apply/remove"
	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/internal/author/hook"
	"github.com/ordapply/ordapply/internal/cli/abortable"
	"github.com/ordapply/ordapply/internal/cli/usage"
	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/ordering"
	"github.com/ordapply/ordapply/state"
	"github.com/ordapply/ordapply/state/history"
	"github.com/ordapply/ordapply/state/lease"
)

// SetFlags select the apply set (KEP-3659) of the resources.
type SetFlags struct {
	Set         string
	Adopt       string
	TakeOver    bool
	Prune       bool
	pruneSpaces bool
	lockTimeout time.Duration
	Limit       int
	secrets     string // of --history-secrets
	Message     string
	Rollback    bool
	NewSpace    bool // --create-namespace
}

// Register defines the flags of a run on a set.
func (f *SetFlags) Register(flags *pflag.FlagSet) {
	f.RegisterMembership(flags)
	flags.BoolVar(&f.Rollback, "rollback-on-failure", false, "when the run fails, apply the last deployed revision of the apply set again and delete what the run created; on a first install, only delete what it created. The exit code is still that of the failure")
	f.RegisterHistory(flags)
	f.RegisterLock(flags)
}

// AddClusterFlags registers kubectl's flags for a command that supports apply
// sets, which change the meaning of -n.
func AddClusterFlags(flags *pflag.FlagSet, cluster *genericclioptions.ConfigFlags) {
	cluster.AddFlags(flags)
	flags.Lookup("namespace").Usage = "namespace of resources without one. Without --applyset, a resource in another namespace is refused; with it, this is the namespace of the parent, and resources may be in any namespace"
}

// RegisterMembership registers the flags that affect a preview.
func (f *SetFlags) RegisterMembership(flags *pflag.FlagSet) {
	f.Limit, f.secrets = history.DefaultLimit, string(history.KeepInNamespace)
	flags.StringVar(&f.Set, "applyset", "", "apply set (KEP-3659) that the resources become members of: NAME of its parent Secret, in the namespace of -n, or KIND/NAME")
	flags.StringVar(&f.Adopt, "adopt", "unowned", `which existing objects may become members: "never": none; "unowned": those in no set; "any": also members of other sets`)
	flags.BoolVar(&f.TakeOver, "take-over", false, "take over a set that another tool managed, with all fields that the tool owns on its members; with --prune also what a Helm release, kapp app or other inventory of the adopted objects contains beside the stream; implies --adopt=any")
	flags.BoolVar(&f.Prune, "prune", false, "when the whole stream is ready, delete members of the apply set that it no longer contains, in reverse order")
	flags.BoolVar(&f.NewSpace, "create-namespace", false, "create the namespace of -n before anything else if it does not exist; it does not become a member of the apply set, and is never pruned")
	f.RegisterPruneNamespaces(flags)
}

// RegisterPruneNamespaces defines --prune-namespaces.
func (f *SetFlags) RegisterPruneNamespaces(flags *pflag.FlagSet) {
	flags.BoolVar(&f.pruneSpaces, "prune-namespaces", false, "prune Namespaces even if they contain objects outside the apply set")
}

// RegisterHistory defines --history-limit, --history-secrets and --message.
func (f *SetFlags) RegisterHistory(flags *pflag.FlagSet) {
	flags.IntVar(&f.Limit, "history-limit", history.DefaultLimit, "number of revisions of an apply set to keep; the last deployed one is always kept")
	flags.StringVar(&f.secrets, "history-secrets", string(history.KeepInNamespace), `where revisions keep the values of Secrets: "namespace": each in its own namespace; "none": nowhere, so that a rollback leaves Secrets as they are`)
	flags.StringVarP(&f.Message, "message", "m", "", "reason for the run, which the history of an apply set shows; the first 1000 bytes are stored")
}

// RegisterLock defines --lock-timeout.
func (f *SetFlags) RegisterLock(flags *pflag.FlagSet) { RegisterLockTimeout(flags, &f.lockTimeout) }

// RegisterLockTimeout defines --lock-timeout, whose value goes to d.
func RegisterLockTimeout(flags *pflag.FlagSet, d *time.Duration) {
	flags.DurationVar(d, "lock-timeout", 30*time.Second, "how long to wait for another run on the same apply set; 0: do not wait")
}

// NewNamespace returns the namespace that a run creates if it does not exist; "" for none.
func (f *SetFlags) NewNamespace(target *Target) string {
	if !f.NewSpace {
		return ""
	}
	return cmp.Or(target.RecordsNamespace, target.Scope.Namespace)
}

// WaitingFor returns a function that prints that another run holds the lock.
func WaitingFor(set string, messages io.Writer) func(*lease.HeldError) {
	return func(held *lease.HeldError) {
		plain.Fprintf(messages, "waiting for another run on apply set %s: %s\n", set, held.Holder)
	}
}

// Check returns an error for flags that require an apply set.
func (f *SetFlags) Check() error {
	if err := usage.OneOf("adopt", f.Adopt, "never", "unowned", "any"); err != nil {
		return err
	}
	if err := f.CheckHistory(); err != nil {
		return err
	}
	switch {
	case f.TakeOver && f.Adopt == "never":
		return usage.Errorf("--take-over adopts the members of the other tool, and --adopt=never forbids that: leave one of them out")
	case f.Set == "" && f.Rollback:
		return usage.Errorf("--rollback-on-failure requires an apply set: name it with --applyset")
	case f.Set == "" && f.TakeOver:
		return usage.Errorf("--take-over requires an apply set: name it with --applyset")
	case f.Set == "" && (f.Prune || f.pruneSpaces):
		return usage.Errorf("--prune requires an apply set: name it with --applyset")
	case f.pruneSpaces && !f.Prune:
		return usage.Errorf("--prune-namespaces requires --prune")
	}
	return nil
}

// Keep returns the value of --history-secrets.
func (f *SetFlags) Keep() history.Keep { return history.Keep(f.secrets) }

// CheckHistory refuses invalid values of --history-limit and --history-secrets.
func (f *SetFlags) CheckHistory() error {
	if f.Limit < 1 {
		return usage.Errorf("--history-limit=%d: must be at least 1", f.Limit)
	}
	return usage.OneOf("history-secrets", f.secrets, string(history.KeepInNamespace), string(history.KeepNone))
}

// RevisionMetadata returns the history's metadata of a run, besides its plan and stream:
// how the plan was built. order is the file of --order, or "".
func (f *SetFlags) RevisionMetadata(ctx context.Context, options ordering.Options, order string) (state.RevisionMetadata, error) {
	m := state.RevisionMetadata{Revision: history.Revision{Options: options, Origin: f.origin()}, Limit: f.Limit, Keep: f.Keep()}
	if order == "" {
		return m, nil
	}
	text, err := abortable.ReadFile(ctx, order, "--order")
	m.Revision.OrderFile = string(text)
	return m, err
}

// Job is the work of a run on its apply set.
type Job struct {
	Target   *Target
	Stream   *apply.Stream
	Plan     *ordering.Plan
	Metadata state.RevisionMetadata // for the history
}

// metadata returns the history's metadata, with the account of the run.
func (j Job) metadata() state.RevisionMetadata {
	m := j.Metadata
	m.User = j.Target.User
	return m
}

// Open returns a run of the apply set, which reports to no one yet.
func (f *SetFlags) Open(ctx context.Context, j Job, applier apply.Applier, messages io.Writer) (state.Run, error) {
	gvk, id, err := ParentOf(ctx, j.Target, f.Set)
	applier.Membership.Adopt = applyset.Adopt(f.Adopt)
	applier.NewNamespace = f.NewNamespace(j.Target)
	return state.Run{
		SetRef: state.SetRef{
			Cluster: j.Target.Cluster, Parent: id, Kind: gvk, Namespace: j.Target.RecordsNamespace, NewHome: j.Target.GivenNamespace,
			LockTimeout: f.lockTimeout, OnWaiting: WaitingFor(f.Set, messages),
		},
		Applier: applier, Plan: j.Plan, Stream: j.Stream,
		TakeOver: f.TakeOver, Metadata: j.metadata(), Prune: f.Prune,
		Remover: remove.Remover{
			Cluster: applier.Cluster, Workers: applier.Workers, Timeout: applier.Timeout, WaveTimeout: applier.WaveTimeout,
			PruneNamespaces: f.pruneSpaces,
		},
		Callbacks: state.Callbacks{OnNote: func(text string) { plain.Fprintf(messages, "note: %s\n", text) }},
	}, err
}

// Preview returns the preview of a job, of an apply set if one is given. Notes go to messages.
func (f *SetFlags) Preview(ctx context.Context, j Job, applier apply.Applier, messages io.Writer) (*preview.Preview, error) {
	if f.Set == "" {
		return f.previewWithoutSet(ctx, j, applier)
	}
	run, err := f.Open(ctx, j, applier, messages)
	if err != nil {
		return nil, err
	}
	return run.Preview(ctx)
}

// previewWithoutSet returns the preview of a job without an apply set, with its hooks.
func (f *SetFlags) previewWithoutSet(ctx context.Context, j Job, applier apply.Applier) (*preview.Preview, error) {
	applier.NewNamespace = f.NewNamespace(j.Target)
	found, err := applier.Preview(ctx, j.Plan, j.Stream.Objects)
	around := f.AroundWithoutSet(j, applier)
	if err != nil || !around.Hooks.OfApply() {
		return found, err
	}
	return found, around.AddTo(ctx, found)
}

// AroundWithoutSet returns the runner of the hooks of a job without an apply set. It is an install
// or an upgrade depending on whether its objects exist in the cluster.
func (f *SetFlags) AroundWithoutSet(j Job, applier apply.Applier) *hooks.Around {
	all, _ := hook.Read(j.Stream.Hooks, j.Plan.OrderSource)
	return &hooks.Around{
		Runner: hooks.Runner{Applier: applier, Adopt: f.Adopt == "any", ReplaceMembers: f.Adopt == "any", KeepLeftovers: f.Adopt == "never", Events: applier.Events},
		Hooks:  all, Stream: j.Stream, Plan: j.Plan,
		Operation: func(ctx context.Context) (hook.Operation, error) {
			operation, _, err := hooks.OperationOf(ctx, applier.Cluster, j.Stream)
			return operation, err
		},
	}
}
