package preview

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/internal/desired"
	"github.com/ordapply/ordapply/internal/fieldset"
	"github.com/ordapply/ordapply/internal/invalid"
	"github.com/ordapply/ordapply/internal/kinds"
	"github.com/ordapply/ordapply/internal/kubeerr"
	"github.com/ordapply/ordapply/internal/redact"
	"github.com/ordapply/ordapply/internal/snapshot"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/ordering"
	"github.com/ordapply/ordapply/progress"
)

// resource is one resource of a run that is previewed.
type resource struct {
	*run
	ordering.Step
	at         int // position of the step
	seen       snapshot.Object
	manifest   *unstructured.Unstructured
	kind       kube.Kind
	sent, live *unstructured.Unstructured // what would be sent, and the live object; nil when it does not exist
	row        Row
}

// resource returns the resource of a step.
func (r *run) resource(i int) *resource {
	s := r.Plan.Steps[i]
	return &resource{
		run: r, Step: s, at: i, seen: r.read[i], manifest: r.Snapshot.Manifests[i],
		row: Row{ID: s.ID, Layer: s.Layer, Wave: s.Wave, Why: s.Why},
	}
}

// preview computes what would happen to a resource.
func (r *resource) preview(ctx context.Context) Row {
	gvk := r.manifest.GroupVersionKind()
	kind, served := kube.KindsOf(r.Cluster)(gvk)
	h := r.namespaces[r.ID.Namespace]
	switch {
	case !served && len(r.ProvidedBy) > 0:
		return r.deferred(fmt.Sprintf("its kind is provided by %s earlier in this stream", r.ProvidedBy[0]))
	case !served:
		return r.failed(kinds.Unserved(r.Cluster, gvk, 0))
	case kind.Namespaced && r.ID.Namespace == "":
		return r.failed(kinds.MissingNamespace(r.ID.Kind))
	case h.terminating && !h.inStream:
		return r.failed(&kubeerr.NamespaceTerminatingError{Namespace: r.ID.Namespace, BlockedBy: h.blockedBy})
	case h.terminating:
		return r.deferred("its Namespace is being deleted" + h.blockedBy + "; this stream creates it again")
	case h.absent && h.inStream:
		return r.deferred("its Namespace is created earlier in this stream")
	}
	if err := desired.CheckBase64(r.manifest); err != nil {
		return r.failed(err)
	}
	r.kind = kind
	if r.Snapshot.IsUnchanged(r.at, r.seen.Live) {
		r.row.Action = ActionUnchanged
		return r.row
	}
	var err error
	if r.live, err = r.readLive(ctx); err != nil {
		return r.failed(r.explain(redact.Error(r.manifest, err)))
	}
	if r.sent, err = r.Snapshot.Bodies.BodyFor(r.manifest, r.live, r.Snapshot.Owner.ForeignFields); err != nil {
		return r.failed(err)
	}
	if r.live == nil && h.justCreated { // its default contents may not have been created yet
		return r.deferred("its Namespace is created earlier in this stream")
	}
	return r.compare(ctx)
}

// readLive returns the whole live object, nil when it does not exist.
func (r *resource) readLive(ctx context.Context) (*unstructured.Unstructured, error) {
	if r.seen.Known && (r.seen.Live == nil || !r.seen.Metadata) {
		return r.seen.Live, nil
	}
	live, err := r.Cluster.Get(ctx, r.kind, r.ID.Namespace, r.ID.Name)
	if kubeerr.IsMissing(err) {
		return nil, nil
	}
	return live, err
}

// compare computes what a PATCH would do.
func (r *resource) compare(ctx context.Context) Row {
	owner := r.Snapshot.Owner
	if r.live != nil && r.live.GetDeletionTimestamp() != nil {
		if len(kube.DefinedKinds(r.live)) > 0 {
			return r.failed(invalid.CRDTerminating(r.live))
		}
		return r.recreated(ctx, "the old object is being deleted"+kube.DeletionBlockers(r.live)+"; the new one is applied when it is gone")
	}
	if r.live != nil {
		if err := owner.MembershipError(r.live, r.setName); err != nil {
			return r.failed(err)
		}
	}
	merged, err := r.dryRun(ctx, r.sent, false)
	if err != nil && (owner.ConflictsOnlyWithPrevious(err) || owner.MayForce(err)) {
		merged, err = r.dryRun(ctx, r.sent, true)
	}
	if err != nil {
		return r.rejected(ctx, redact.Error(r.manifest, err))
	}
	r.row.Live, r.row.Merged = withoutServerFields(r.live), withoutServerFields(r.withoutPreviousFields(ctx, merged))
	switch {
	case r.live == nil:
		r.row.Action = ActionCreate
	case !owner.IsOwn(r.live):
		r.row.Action, r.row.Detail = ActionAdopt, r.adoptReason()
	case equalObjects(r.row.Live, r.row.Merged):
		r.row.Action = ActionUnchanged
	default:
		r.row.Action = ActionUpdate
	}
	return r.row
}

// rejected returns what a run would do about an error of the dry run.
func (r *resource) rejected(ctx context.Context, err error) Row {
	owner, fields := r.Snapshot.Owner, invalid.ImmutableFields(err)
	if r.live != nil && len(fields) == 0 && apierrors.IsInvalid(err) {
		if blocked := invalid.FindBlockers(r.live, r.sent, err, owner); blocked != nil {
			return r.unblocked(blocked)
		}
	}
	switch missing := kubeerr.MissingNamespace(err); {
	case missing != "" && r.index.HasNamespace(missing):
		return r.deferred("its Namespace is created earlier in this stream")
	case r.index.HasServiceAccount(kubeerr.MissingServiceAccount(err)):
		return r.deferred("its ServiceAccount is created earlier in this stream")
	case len(fields) == 0:
		return r.failed(r.explain(err))
	case r.live == nil || !invalid.MayRecreate(r.manifest):
		return r.failed(invalid.ImmutableError(fields, r.ID.Kind))
	}
	if refusal := invalid.RecreateRefusal(owner, r.manifest, r.live, fields); refusal != nil {
		return r.failed(refusal)
	}
	return r.recreated(ctx, invalid.JoinFields(fields)+" cannot be changed")
}

// unblocked returns the row of a PATCH that is rejected because of fields that
// the run would remove.
func (r *resource) unblocked(why *invalid.Blocked) Row {
	if !why.Removable(r.Snapshot.Owner.Force.From) {
		return r.failed(why)
	}
	r.row.Action, r.row.Detail = ActionUpdate, "this removes "+why.Fields()+", which cannot be combined with the manifest"
	r.row.Live, r.row.Merged = withoutServerFields(r.live), withoutServerFields(why.Removed(r.live, r.sent))
	return r.row
}

// recreated returns the row of an object that is deleted and created again.
func (r *resource) recreated(ctx context.Context, why string) Row {
	r.row.Action, r.row.Detail = ActionRecreate, why
	r.row.Live, r.row.Merged = withoutServerFields(r.live), r.recreate(ctx)
	return r.row
}

// recreate returns what the live object would be if it were created again. The
// dry run uses another name, since its own is taken; nil when it fails.
func (r *resource) recreate(ctx context.Context) *unstructured.Unstructured {
	const suffix = "-anew"
	name := r.sent.GetName()
	other, err := r.Snapshot.Bodies.Body(r.manifest) // a new object has no other managers
	if err != nil {
		return nil
	}
	other.SetName(name[:min(len(name), 63-len(suffix))] + suffix)
	merged, err := r.dryRun(ctx, other, false)
	if err != nil {
		return nil
	}
	own := map[string]string{other.GetName(): name, string(merged.GetUID()): string(r.live.GetUID())}
	return withoutServerFields(&unstructured.Unstructured{Object: renamed(merged.Object, own).(map[string]any)})
}

// renamed replaces strings, wherever they are a whole value: Jobs have their
// own name and uid in labels.
func renamed(value any, names map[string]string) any {
	switch value := value.(type) {
	case map[string]any:
		for key, inner := range value {
			value[key] = renamed(inner, names)
		}
	case []any:
		for i, inner := range value {
			value[i] = renamed(inner, names)
		}
	case string:
		if name, ok := names[value]; ok {
			return name
		}
	}
	return value
}

// withoutPreviousFields returns the object of a dry run without the fields that
// only previous managers own on the live object. A run migrates these fields and then
// applies again, so that fields that the manifest no longer has are removed
// or get their default. A dry run cannot migrate; it computes the result
// here. A dry run of its creation shows which of them have a default.
func (r *resource) withoutPreviousFields(ctx context.Context, merged *unstructured.Unstructured) *unstructured.Unstructured {
	owner, live := r.Snapshot.Owner, r.live
	if live == nil || !owner.HasPreviousManagerFields(live) && !owner.HasPreviousManagerFields(merged) {
		return merged
	}
	predecessors := append(owner.PreviousManagersOf(live), owner.PreviousManagersOf(merged)...) // force took the label from some of them
	in := kube.InheritFields(merged, predecessors, append(applyset.MembershipManagers(live), applyset.MembershipManagers(merged)...), owner.Manager)
	own := fieldset.OwnedBy(merged, func(entry metav1.ManagedFieldsEntry) bool {
		return entry.Manager == owner.Manager && entry.Operation == metav1.ManagedFieldsOperationApply
	})
	out := merged.DeepCopy()
	var fresh any
	if created := r.recreate(ctx); created != nil {
		fresh = created.Object
	}
	fieldset.Drop(out.Object, fresh, in.Migrated, in.Kept.Union(own))
	return out
}

// dryRun sends a PATCH as a server-side dry run. Transient failures are
// retried.
func (r *resource) dryRun(ctx context.Context, sent *unstructured.Unstructured, force bool) (*unstructured.Unstructured, error) {
	options := kube.PatchOptions{Manager: r.Snapshot.Owner.Manager, Force: force, DryRun: true}
	return kube.WithRetry(ctx, kube.DescribeRequest("dry run of", r.kind, sent.GetNamespace(), sent.GetName()), func() (*unstructured.Unstructured, error) {
		live, err := desired.Apply(ctx, r.Cluster, r.kind, sent, options)
		if err != nil {
			err = redact.Error(sent, err)
		}
		return live, err
	})
}

// adoptReason explains why an object is adopted.
func (r *resource) adoptReason() string {
	if r.Snapshot.Owner.Set != "" {
		return "it exists and is not a member of the apply set yet"
	}
	return "it exists and was never applied by " + r.Snapshot.Owner.Manager
}

// deferred defers a row to the run. Merged is then what is sent.
func (r *resource) deferred(why string) Row {
	r.row.Action, r.row.Detail = ActionDeferred, why
	r.row.Merged = withoutServerFields(r.Snapshot.Bodies.WithoutFingerprint(r.manifest))
	return r.row
}

// failed returns the row of a resource that the run would fail.
func (r *resource) failed(cause error) Row {
	r.row.Action = ActionError
	r.row.Err = &progress.Error{Wave: r.Plan.WaveTitle(r.Wave), Op: progress.OpApply, ID: r.ID, Err: cause}
	return r.row
}

// explain adds a remedy to an error of the API server.
func (r *resource) explain(err error) error {
	return invalid.Explain(err, r.index.HasNamespace)
}
