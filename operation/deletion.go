package operation

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/apply/hooks"
	"github.com/ordapply/ordapply/apply/remove"
	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/internal/author/hook"
	"github.com/ordapply/ordapply/internal/cli/connect"
	"github.com/ordapply/ordapply/internal/cli/console"
	"github.com/ordapply/ordapply/internal/cli/input"
	"github.com/ordapply/ordapply/internal/cli/plan"
	"github.com/ordapply/ordapply/internal/cli/report"
	"github.com/ordapply/ordapply/internal/live/access"
	"github.com/ordapply/ordapply/internal/live/write"
	"github.com/ordapply/ordapply/internal/plain"
	"github.com/ordapply/ordapply/internal/view/events"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
	"github.com/ordapply/ordapply/ordering/planner"
)

// deletion is a prepared deletion.
type deletion struct {
	target *connect.Target
	order  *ordering.Deletion
	live   map[object.ID]*unstructured.Unstructured // at least their metadata
	keep   func(live *unstructured.Unstructured) string
	hooks  []ordering.Resource // run before and after the deletion
	source ordering.OrderSource

	files *report.Files
}

// prepare reads the manifests and the live objects that they name.
func (op *Delete) prepare(ctx context.Context, c *console.Console, files *report.Files) (d deletion, err error) {
	d.files = files
	source := op.source()
	inputs, options, err := source.ReadAll(ctx, c, connect.ScopeOf(op.Cluster, ""))
	if err != nil {
		return d, err
	}
	if d.target, err = connect.To(ctx, c, op.Cluster, files.Watch); err != nil {
		return d, err
	}
	scope := d.target.Scope
	scope.Deletion = true
	stream, err := apply.NewStream(input.MarkHooks(inputs, &options), scope)
	skipped, refused := source.LeaveOutArgoHooks(stream, options)
	options.Excluded, d.keep, d.hooks, d.source = stream.Excluded, protectedIn(stream), stream.Hooks, options.OrderSource
	remarks, wrong := input.CheckDeletion(stream, options, d.target)
	order, unordered := planner.DeletionOrder(stream.Resources, options)
	if err := errors.Join(err, refused, wrong, unordered); err != nil {
		return d, err
	}
	d.order = order
	d.order.Notes = slices.Concat(d.order.Notes, stream.Notes(), remarks)
	for _, hook := range skipped {
		d.order.Notes = append(d.order.Notes, fmt.Sprintf("left out: %s (%s)", hook.ID, hook.Why.Detail))
	}
	d.order.Notes = append(d.order.Notes, d.target.UndiscoveredNotes(stream)...)
	if d.live, err = apply.Find(ctx, d.target.Cluster, stream.Resources); err != nil {
		return d, err
	}
	d.order.Notes = append(d.order.Notes, op.memberNotes(d.live, write.NewSetFinder(ctx, d.target.Cluster))...)
	if op.DryRun == "client" {
		return d, nil
	}
	required := func() []kube.Permission {
		all := access.RemovalPermissions(d.live, kube.KindsOf(d.target.Cluster))
		if op.DryRun == "none" {
			running, _ := hook.Read(d.hooks, d.source)
			all.Add(hooks.Permissions(running, kube.KindsOf(d.target.Cluster), op.Diagnosis, hook.PreDelete, hook.PostDelete))
		}
		return all.Required
	}
	return d, d.target.CheckPermissions(ctx, required, append(source.SameManifests(), "--delete")...)
}

// memberNotes lists the apply sets of objects that stay when those are deleted by their manifests:
// all but sets in a Namespace that is deleted with its contents.
func (op *Delete) memberNotes(live map[object.ID]*unstructured.Unstructured, find write.SetFinder) []string {
	members := map[string]int{}
	for _, obj := range live {
		if applyset.Owner(obj) == "" {
			continue
		}
		set := find(applyset.Owner(obj), obj.GetNamespace())
		goes := op.PruneNamespaces && live[object.ID{Kind: "Namespace", Name: set.ID.Namespace}] != nil
		if set.HasMember(obj) && !goes {
			members[fmt.Sprintf("apply set %s, which stays; ordapply delete %s deletes it with all its members", set, set.Flags())]++
		}
	}
	var notes []string
	for _, text := range slices.Sorted(maps.Keys(members)) {
		notes = append(notes, fmt.Sprintf("%s of %s", plain.Count(members[text], "object"), text))
	}
	return notes
}

// protectedIn keeps objects whose manifest protects them, even if the live
// object does not have the annotation yet.
func protectedIn(stream *apply.Stream) func(*unstructured.Unstructured) string {
	return func(live *unstructured.Unstructured) string {
		manifest := stream.Objects[kube.Meta(live).ID]
		if manifest == nil || applyset.Protection(manifest, applyset.Delete) == "" {
			return ""
		}
		return fmt.Sprintf("the annotation %s of its manifest keeps it", applyset.Protection(manifest, applyset.Delete))
	}
}

// remover returns a Remover configured by the flags.
func (op *Delete) remover(d deletion, onEvent func(event.Event)) remove.Remover {
	return remove.Remover{
		Cluster:         d.files.Of(d.target.Cluster),
		Timeout:         op.Timeout,
		WaveTimeout:     orNone(op.WaveTimeout),
		DryRun:          op.DryRun == "server",
		NoWait:          !op.Wait,
		PruneNamespaces: op.PruneNamespaces,
		KeepReason:      d.keep,
		Removal:         applyset.Delete,
		NoDiagnosis:     !op.Diagnosis,
		Events:          onEvent,
	}
}

// show prints the order of a deletion.
func (op *Delete) show(c *console.Console, w io.Writer, d deletion) error {
	planned := d.order.Plan()
	for i, s := range planned.Steps {
		if op.Output == "text" && d.live[s.ID] == nil {
			planned.Steps[i].Why.Rule, planned.Steps[i].Why.Detail = "does not exist", ""
		}
	}
	return printPlan(w, op.Output, planned, plan.StyleFor(c, true), func(id object.ID) bool { return d.live[id] != nil })
}

// report returns the reporters of a deletion.
func (op *Delete) report(ctx context.Context, c *console.Console, d deletion, o report.Outputs) *report.Reporters {
	return o.Report(ctx, c, d.target, d.order.Plan(), d.files, report.Options{
		Origin: events.Origin{SetName: events.SetName{ApplySet: op.Set}},
		Output: op.Output, DryRun: op.DryRun == "server", WaveTimeout: op.WaveTimeout, NoLive: op.NoLive || op.DryRun != "none", Quiet: op.Quiet, Deletion: true,
	})
}

// hookApplier returns the Applier for the hooks of a deletion.
func (op *Delete) hookApplier(t *connect.Target, files *report.Files, onEvent func(event.Event)) apply.Applier {
	return apply.Applier{
		Cluster: files.Of(t.Cluster), Timeout: op.Timeout, WaveTimeout: orNone(op.WaveTimeout), NoDiagnosis: !op.Diagnosis, Events: onEvent,
	}
}

// uninstalls reports whether an object of the manifests is going to be deleted: otherwise no
// delete hook runs. Namespaces and CustomResourceDefinitions do not count, as in an apply:
// others create them too, and a deletion may keep them.
func (d deletion) uninstalls() bool {
	for id, live := range d.live {
		if !id.IsNamespace() && !id.IsCRD() && applyset.Protection(live, applyset.Delete) == "" && d.keep(live) == "" {
			return true
		}
	}
	return false
}

// deleteAround deletes the objects of manifests, runs their delete hooks before
// and after, and then deletes objects that hooks left behind.
func (op *Delete) deleteAround(ctx context.Context, d deletion, reporters *report.Reporters) (event.Summary, error) {
	remover := op.remover(d, reporters.Event)
	all, _ := hook.Read(d.hooks, d.source)
	if len(all) == 0 || op.DryRun == "server" {
		return remover.Run(ctx, d.order, d.live)
	}
	runner := hooks.Runner{Applier: op.hookApplier(d.target, d.files, reporters.Event), Events: reporters.Event}
	remover.Ignore = func(found *unstructured.Unstructured) bool { return runner.WillRemove(all, found) }
	running := all
	if !d.uninstalls() {
		running = nil
	}
	ran, err := runner.Run(ctx, hook.PreDelete, running)
	if err != nil {
		return event.Summary{Hooks: ran}, err
	}
	summary, err := remover.Run(ctx, d.order, d.live)
	if err == nil {
		var after []event.Result
		after, err = runner.Run(ctx, hook.PostDelete, running)
		ran = append(ran, after...)
	}
	if err == nil {
		var left []event.Result
		left, err = runner.RemoveLeftovers(ctx, all, nil)
		ran = append(ran, left...)
	}
	summary.Hooks = ran
	return summary, err
}
