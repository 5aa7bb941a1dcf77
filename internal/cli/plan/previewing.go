package plan

import (
	"errors"
	"slices"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/apply/preview"
	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/health"
	"github.com/ordapply/ordapply/internal/cli/connect"
	"github.com/ordapply/ordapply/internal/cli/input"
	"github.com/ordapply/ordapply/internal/run/wait"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/ordering"
)

// previewFlags are the flags of plan and diff: apply's flags that affect the result.
type previewFlags struct {
	input.StreamFlags
	input.PlanFlags
	connect.SetFlags
	cluster        *genericclioptions.ConfigFlags
	fieldManager   string
	forceConflicts applyset.Force
}

func (f *previewFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	f.cluster = genericclioptions.NewConfigFlags(true)
	f.StreamFlags.Register(flags)
	f.PlanFlags.Register(flags)
	f.RegisterMembership(flags)
	RegisterServerSide(flags)
	connect.AddClusterFlags(flags, f.cluster)
	flags.StringVar(&f.fieldManager, "field-manager", "ordapply", "name of the field manager that would own the applied fields")
	connect.RegisterForce(flags, &f.forceConflicts, "show the result of taking fields that other field managers own: from all managers, or with =NAME,NAME only from these")
	flags.Bool("ordering", true, "plan in waves; false: everything at once")
}

// previewed is a plan with its preview.
type previewed struct {
	target  *connect.Target
	plan    *ordering.Plan
	preview *preview.Preview
	hooks   []ordering.Resource // the hooks of the stream
}

// preview reads the manifests and runs server-side dry runs of applying them.
func (f *previewFlags) preview(cmd *cobra.Command) (*previewed, error) {
	if err := errors.Join(f.Check(), f.CheckSet(f.Set)); err != nil {
		return nil, err
	}
	inputs, options, err := input.ReadAll(cmd, &f.StreamFlags, &f.PlanFlags, connect.ScopeOf(f.cluster, f.Set))
	if err != nil {
		return nil, err
	}
	p := &previewed{}
	if p.target, err = connect.To(cmd.Context(), f.cluster); err != nil {
		return nil, offerOffline(err)
	}
	if err := connect.UseSet(cmd.Context(), p.target, f.Set); err != nil {
		return nil, err
	}
	stream, plan, err := f.PlanStream(inputs, p.target.Scope, &options, p.target)
	if err != nil {
		return nil, err
	}
	p.plan, p.hooks = plan, stream.Hooks
	if _, err := input.Gates(p.plan, stream, true); err != nil {
		return nil, err
	}
	p.plan.Notes = append(p.plan.Notes, p.target.UndiscoveredNotes(stream)...)
	p.plan.Notes = append(p.plan.Notes, input.UnknownKindNotes(p.target.Cluster, stream, p.plan, apply.DefaultKindTimeout)...)
	p.plan.Notes = append(p.plan.Notes, wait.AbsentNotes(cmd.Context(), kube.NewReadOnly(p.target.Cluster), p.plan)...)
	applier := apply.Applier{
		Cluster:        p.target.Cluster,
		Manager:        f.fieldManager,
		Namespace:      p.target.Scope.Namespace,
		ForceConflicts: f.forceConflicts,
		Health:         &health.Assessor{},
	}
	if p.preview, err = f.SetFlags.Preview(cmd.Context(), connect.Job{Target: p.target, Stream: stream, Plan: p.plan}, applier, cmd.ErrOrStderr()); err != nil {
		return p, connect.ExplainForbidden(err, p.target, f.Set)
	}
	p.plan.Notes = append(p.plan.Notes, p.preview.Notes...)
	if events := p.preview.HookEvents; events != nil {
		p.plan.Hooks = slices.DeleteFunc(p.plan.Hooks, func(hook ordering.PlannedHook) bool { return !slices.Contains(events, hook.Event) })
	}
	return p, nil
}

// offerOffline adds a hint how to plan without a cluster.
func offerOffline(err error) error {
	if errors.Is(err, connect.ErrNoCluster) {
		return errNoClusterToAsk
	}
	return err
}

var errNoClusterToAsk = errors.New("no cluster: kubeconfig not found, or it names no cluster; set KUBECONFIG or --kubeconfig, or see the waves without a cluster with ordapply plan --dry-run=client")
