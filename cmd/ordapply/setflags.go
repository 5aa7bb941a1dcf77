package main

import (
	"context"
	"errors"
	"io"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
	"github.com/ordapply/ordapply/state"
)

// setFlags select the apply set (KEP-3659) of the resources.
type setFlags struct {
	set         string
	adopt       string
	takeOver    bool
	prune       bool
	pruneSpaces bool
	lockTimeout time.Duration
	limit       int
	rollback    bool
}

func (f *setFlags) register(flags *pflag.FlagSet) {
	f.registerMembership(flags)
	flags.BoolVar(&f.rollback, "rollback-on-failure", false, "when the run fails, apply the last deployed revision of the apply set again and delete what the run created; on a first install, only delete what it created. The exit code is still that of the failure")
	f.registerHistory(flags)
	f.registerLock(flags)
}

// addClusterFlags registers kubectl's flags for a command that supports apply
// sets, which change the meaning of -n.
func addClusterFlags(flags *pflag.FlagSet, cluster *genericclioptions.ConfigFlags) {
	cluster.AddFlags(flags)
	flags.Lookup("namespace").Usage = "namespace of resources without one. Without --applyset, a resource with another namespace is refused; with it, this is the namespace of the parent, and resources may name any"
}

// registerMembership registers the flags that affect a preview.
func (f *setFlags) registerMembership(flags *pflag.FlagSet) {
	f.limit = state.DefaultLimit
	flags.StringVar(&f.set, "applyset", "", "apply set (KEP-3659) that the resources become members of: NAME of its parent Secret, in the namespace of -n, or KIND/NAME")
	flags.StringVar(&f.adopt, "adopt", "unowned", `which existing objects may become members: "never": none; "unowned": those in no set; "any": also members of other sets`)
	flags.BoolVar(&f.takeOver, "take-over", false, "take over a set that another tool managed, with all fields that the tool owns on its members; implies --adopt=any")
	flags.BoolVar(&f.prune, "prune", false, "when the whole stream is ready, delete members of the apply set that it no longer contains, in reverse order")
	f.registerPruneNamespaces(flags)
}

func (f *setFlags) registerPruneNamespaces(flags *pflag.FlagSet) {
	flags.BoolVar(&f.pruneSpaces, "prune-namespaces", false, "prune Namespaces even if they contain objects outside the apply set")
}

func (f *setFlags) registerHistory(flags *pflag.FlagSet) {
	flags.IntVar(&f.limit, "history-limit", state.DefaultLimit, "number of revisions of an apply set to keep; the last deployed one is always kept")
}

func (f *setFlags) registerLock(flags *pflag.FlagSet) { registerLockTimeout(flags, &f.lockTimeout) }

func registerLockTimeout(flags *pflag.FlagSet, d *time.Duration) {
	flags.DurationVar(d, "lock-timeout", 30*time.Second, "how long to wait for another run on the same apply set; 0: do not wait")
}

// waitingFor returns a function that prints that another run holds the lock.
func waitingFor(set string, said io.Writer) func(*state.HeldError) {
	return func(held *state.HeldError) {
		plain.Fprintf(said, "waiting for another run on apply set %s: %s\n", set, held.Holder)
	}
}

// check returns an error for flags that require an apply set.
func (f *setFlags) check() error {
	if err := oneOf("adopt", f.adopt, "never", "unowned", "any"); err != nil {
		return err
	}
	if err := f.checkHistory(); err != nil {
		return err
	}
	switch {
	case f.takeOver && f.adopt == "never":
		return usagef("--take-over adopts the members of the other tool, and --adopt=never forbids that: leave one of them out")
	case f.set == "" && f.rollback:
		return usagef("--rollback-on-failure requires an apply set: name it with --applyset")
	case f.set == "" && f.takeOver:
		return usagef("--take-over requires an apply set: name it with --applyset")
	case f.set == "" && (f.prune || f.pruneSpaces):
		return usagef("--prune requires an apply set: name it with --applyset")
	case f.pruneSpaces && !f.prune:
		return usagef("--prune-namespaces requires --prune")
	}
	return nil
}

func (f *setFlags) checkHistory() error {
	if f.limit < 1 {
		return usagef("--history-limit=%d: must be at least 1", f.limit)
	}
	return nil
}

// memory returns what the history stores about a run in addition to its plan
// and stream: how the plan was built. order is the file of --order, or "".
func (f *setFlags) memory(ctx context.Context, options ordering.Options, order string) (state.RevisionMetadata, error) {
	m := state.RevisionMetadata{Revision: state.Revision{Options: options}, Limit: f.limit}
	if order == "" {
		return m, nil
	}
	text, err := readFile(ctx, order, "--order")
	m.Revision.OrderFile = string(text)
	return m, err
}

// parent returns the kind and ID of a set's parent: NAME is a Secret in the
// command's namespace; KIND/NAME may be a ConfigMap or a custom resource, as in
// kubectl.
func (t *target) parent(ctx context.Context, text string) (schema.GroupVersionKind, object.ID, error) {
	kind, name, found := strings.Cut(text, "/")
	if !found {
		kind, name = "secret", text
	}
	gvk, served := t.cluster.KindFor(kind)
	switch {
	case name == "":
		return gvk, object.ID{}, usagef("--applyset=%s: write NAME or KIND/NAME", text)
	case !served:
		return gvk, object.ID{}, usagef("--applyset=%s: the API server does not serve %q", text, kind)
	}
	if faults := validation.IsDNS1123Subdomain(name); len(faults) > 0 {
		return gvk, object.ID{}, usagef("--applyset=%s: %q cannot be the name of its parent: %s", text, name, faults[0])
	}
	if err := state.CheckParentKind(ctx, t.cluster, gvk); err != nil {
		if unfit, is := errors.AsType[*state.UnfitParentError](err); is {
			err = usagef("--applyset=%s: %w", text, unfit)
		}
		return gvk, object.ID{}, err
	}
	id := object.ID{Group: gvk.Group, Kind: gvk.Kind, Name: name}
	t.home = t.scope.Namespace
	if k, _ := t.cluster.Kind(gvk); k.Namespaced {
		id.Namespace = t.scope.Namespace
		return gvk, id, nil
	}
	home, err := state.RecordsNamespace(ctx, t.cluster, gvk, id)
	if home != "" {
		t.home = home
	}
	return gvk, id, err
}

// open returns the run of a job's apply set.
func (f *setFlags) open(ctx context.Context, j session, applier apply.Applier, told reporters, said io.Writer) (state.Run, error) {
	gvk, id, err := j.target.parent(ctx, f.set)
	applier.Membership.Adopt = apply.Adopt(f.adopt)
	return state.Run{
		Cluster: j.target.cluster, Applier: applier, Plan: j.plan, Stream: j.stream,
		Parent: id, Kind: gvk, Namespace: j.target.home,
		TakeOver: f.takeOver, LockTimeout: f.lockTimeout, Metadata: j.memory,
		Prune: f.prune, OnPruning: told.extend,
		Remover: apply.Remover{
			Cluster: applier.Cluster, Workers: applier.Workers, Timeout: applier.Timeout, WaveTimeout: applier.WaveTimeout,
			PruneNamespaces: f.pruneSpaces, Events: told.event,
		},
		OnWaiting: waitingFor(f.set, said),
		OnNote:    func(text string) { plain.Fprintf(said, "note: %s\n", text) },
	}, err
}
