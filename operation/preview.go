package operation

import (
	"context"
	"errors"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/apply/preview"
	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/health"
	"github.com/ordapply/ordapply/internal/cli/connect"
	"github.com/ordapply/ordapply/internal/cli/console"
	"github.com/ordapply/ordapply/internal/cli/input"
	"github.com/ordapply/ordapply/internal/cli/plan"
	"github.com/ordapply/ordapply/internal/cli/usage"
	"github.com/ordapply/ordapply/internal/run/wait"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/operation/option"
	"github.com/ordapply/ordapply/ordering"
)

// Preview has the options of an apply that determine its changes. Plan and Diff show these, and
// a plan file stores the options.
type Preview struct {
	option.Manifests
	option.Planning
	option.Membership
	// FieldManager is the name of the field manager that owns the applied fields.
	FieldManager string `json:"fieldManager"`
	// ForceConflicts selects the field managers whose fields are taken.
	ForceConflicts option.Force `json:"forceConflicts"`
	// Cluster selects the cluster, as kubectl's flags do.
	Cluster *genericclioptions.ConfigFlags `json:"-"`
}

// NewPreview returns the default options.
func NewPreview() Preview {
	return Preview{
		Planning: option.Planning{Hooks: "run"}, Membership: option.Membership{Adopt: "unowned"},
		FieldManager: "ordapply", Cluster: genericclioptions.NewConfigFlags(true),
	}
}

// check returns an error for options that exclude each other, or require an apply set.
func (p *Preview) check() error {
	if err := usage.OneOf("adopt", p.Adopt, "never", "unowned", "any"); err != nil {
		return err
	}
	switch {
	case p.TakeOver && p.Adopt == "never":
		return usage.Errorf("--take-over adopts the members of the other tool, and --adopt=never forbids that: leave one of them out")
	case p.Set == "" && p.TakeOver:
		return usage.Errorf("--take-over requires an apply set: name it with --applyset")
	case p.Set == "" && (p.Prune || p.PruneNamespaces):
		return usage.Errorf("--prune requires an apply set: name it with --applyset")
	case p.PruneNamespaces && !p.Prune:
		return usage.Errorf("--prune-namespaces requires --prune")
	}
	return nil
}

// source returns the reader and planner of the stream.
func (p *Preview) source() input.Source {
	return input.Source{Manifests: p.Manifests, Planning: p.Planning, NoSet: p.Set == ""}
}

// run reads the manifests and previews their apply with dry runs on the API server.
func (p *Preview) run(ctx context.Context, c *console.Console) (*plan.Previewed, error) {
	source := p.source()
	if err := errors.Join(p.check(), source.CheckSet(p.Set)); err != nil {
		return nil, err
	}
	inputs, options, err := source.ReadAll(ctx, c, connect.ScopeOf(p.Cluster, p.Set))
	if err != nil {
		return nil, err
	}
	out := &plan.Previewed{}
	if out.Target, err = connect.To(ctx, c, p.Cluster); err != nil {
		return nil, offerOffline(err)
	}
	if _, _, err := connect.UseSet(ctx, out.Target, p.Set); err != nil {
		return nil, err
	}
	stream, planned, err := source.PlanStream(inputs, out.Target.Scope, &options, out.Target)
	if err != nil {
		return nil, err
	}
	out.Plan, out.Hooks = planned, stream.Hooks
	ungated, err := input.Gates(out.Plan, stream, true)
	if err != nil {
		return nil, err
	}
	out.Plan.Notes = append(out.Plan.Notes, out.Target.UndiscoveredNotes(stream)...)
	out.Plan.Notes = append(out.Plan.Notes, input.UnknownKindNotes(out.Target.Cluster, stream, out.Plan, apply.DefaultKindTimeout)...)
	out.Plan.Notes = append(out.Plan.Notes, wait.AbsentNotes(ctx, kube.NewReadOnly(out.Target.Cluster), out.Plan)...)
	applier := apply.Applier{
		Cluster:        out.Target.Cluster,
		Schemas:        out.Target.Schemas,
		Manager:        p.FieldManager,
		Namespace:      out.Target.Scope.Namespace,
		ForceConflicts: applyset.Force(p.ForceConflicts),
		Health:         &health.Assessor{},
	}
	run := setRun{membership: p.Membership, target: out.Target, stream: stream, plan: out.Plan, messages: c.Err}
	if out.Preview, err = run.preview(ctx, applier); err != nil {
		return out, connect.ExplainForbidden(err, out.Target, p.Set)
	}
	applier.SkipWait = ungated
	if err := p.checkPermissions(ctx, applier, out, stream.Objects); err != nil {
		return out, err
	}
	out.Plan.Notes = append(out.Plan.Notes, out.Preview.Notes...)
	if out.LostOrder = lostOrder(stream, layersIn(out.Preview), out.Preview.FormerOrders); out.LostOrder != nil && p.RequireOrder {
		return out, refused(out.LostOrder)
	}
	if events := out.Preview.HookEvents; events != nil {
		out.Plan.Hooks = slices.DeleteFunc(out.Plan.Hooks, func(hook ordering.PlannedHook) bool { return !slices.Contains(events, hook.Event) })
	}
	return out, nil
}

// checkPermissions returns all permissions that the account lacks to apply the stream, if the API
// server refused a request of the preview for want of one.
func (p *Preview) checkPermissions(ctx context.Context, applier apply.Applier, of *plan.Previewed, objects map[object.ID]*unstructured.Unstructured) error {
	isForbidden := func(row preview.Row) bool { return event.CodeOf(row.Err) == event.CodeForbidden }
	if !slices.ContainsFunc(of.Preview.Rows, isForbidden) {
		return nil
	}
	required := func() []kube.Permission {
		return applier.Permissions(of.Plan, objects, kube.StreamKinds(objects).Or(kube.KindsOf(of.Target.Cluster))).Required
	}
	return of.Target.CheckPermissions(ctx, required, p.rolesFlags(of.Target.Scope.Namespace)...)
}
