package preview

import (
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/internal/kube/fault"
	"github.com/ordapply/ordapply/internal/kube/redact"
	"github.com/ordapply/ordapply/internal/live/recreate"
	"github.com/ordapply/ordapply/internal/live/write"
	"github.com/ordapply/ordapply/internal/plan/check"
	"github.com/ordapply/ordapply/internal/run/request"
	"github.com/ordapply/ordapply/internal/run/wait"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// resource is one resource of a run that is previewed.
type resource struct {
	*run
	ordering.Step
	at         int // position of the step
	seen       request.LiveObject
	manifest   *unstructured.Unstructured
	kind       kube.Kind
	sent, live *unstructured.Unstructured // the object to send, and the live object; nil when it does not exist
	row        Row
	unknown    string // which values are known after the apply
}

// resource returns the resource of a step.
func (r *run) resource(i int) *resource {
	s, filled := r.Plan.Steps[i], r.filled[i]
	return &resource{
		run: r, Step: s, at: i, seen: r.read[i], manifest: r.snapshot.Manifests[i],
		row:     Row{ID: s.ID, Layer: s.Layer, Wave: s.Wave, Why: s.Why, secrets: filled.Places, hidden: filled.Secrets},
		unknown: filled.Note(),
	}
}

// preview computes the row of a resource.
func (r *resource) preview(ctx context.Context) Row {
	gvk := r.manifest.GroupVersionKind()
	kind, served := kube.KindsOf(r.Cluster)(gvk)
	h := r.namespaces[r.ID.Namespace]
	switch {
	case r.Refused != nil:
		return r.failed(r.Refused)
	case !served && len(r.ProvidedBy) > 0:
		return r.deferred(fmt.Sprintf("its kind is provided by %s earlier in this stream", r.ProvidedBy[0]))
	case !served && r.mayAppear(r.at):
		return r.deferred(fmt.Sprintf("the run waits up to %s for its kind: %v", r.KindTimeout, wait.Unserved(r.Cluster, gvk, "")))
	case !served:
		return r.failed(wait.Unserved(r.Cluster, gvk, ""))
	case kind.Namespaced && r.ID.Namespace == "":
		return r.failed(wait.MissingNamespace(r.ID.Kind))
	}
	if err := r.fields(r.at); err != nil {
		return r.failed(err)
	}
	switch {
	case h.terminating && !h.inStream:
		return r.failed(&fault.NamespaceTerminatingError{Namespace: r.ID.Namespace, BlockedBy: h.blockedBy})
	case h.terminating:
		return r.deferred("its Namespace is being deleted" + h.blockedBy + "; this stream creates it again")
	case h.absent && h.inStream:
		if !r.index.HasNamespace(r.ID.Namespace) {
			return r.deferred("its Namespace is created first")
		}
		return r.deferred("its Namespace is created earlier in this stream")
	}
	for _, err := range []error{check.Native(r.ID, r.manifest.Object), r.snapshot.Owner.RecordError(r.manifest)} {
		if err != nil {
			return r.failed(err)
		}
	}
	if err := r.refused(r.at); err != nil {
		r.row.rejected = true
		return r.failed(err)
	}
	r.kind = kind
	if r.seen.Live != nil {
		r.row.Owners.SharedWith = r.snapshot.Owner.SharedWith(r.seen.Live)
	}
	if r.snapshot.IsUnchanged(r.at, r.seen) {
		r.row.Action, r.row.Detail = ActionUnchanged, r.snapshot.LeftBecause(r.at, r.seen.Live)
		return r.row
	}
	var err error
	if r.live, err = r.readLive(ctx); err != nil {
		return r.failed(r.explain(redact.Error(r.manifest, err)))
	}
	if policy, why := r.snapshot.Policy(r.at, r.live); policy != applyset.Apply && (r.live != nil || policy != applyset.CreateOnly) {
		return r.restricted(policy, why)
	}
	if r.sent, err = r.snapshot.Bodies.BodyFor(r.manifest, r.live, r.snapshot.Owner); err != nil {
		return r.failed(err)
	}
	if r.live == nil && h.justCreated { // its default contents may not have been created yet
		return r.deferred("its Namespace is created earlier in this stream")
	}
	return r.compare(ctx)
}

// restricted returns the row of an object that a policy forbids to write.
func (r *resource) restricted(policy applyset.Policy, why string) Row {
	switch {
	case r.live != nil:
		r.row.Action, r.row.Detail = ActionUnchanged, r.snapshot.LeftBecause(r.at, r.live)
	case policy == applyset.MustExist:
		r.row.Action, r.row.Detail = ActionDeferred, "the run waits until it exists: "+why
	default:
		r.row.Action, r.row.Detail = ActionUnchanged, "not created: "+why
	}
	return r.row
}

// readLive returns the whole live object, nil when it does not exist.
func (r *resource) readLive(ctx context.Context) (*unstructured.Unstructured, error) {
	live, err := r.seen.Live, error(nil)
	if !r.seen.Known || r.seen.Live != nil && r.seen.Metadata {
		live, err = r.Cluster.Get(ctx, r.kind, r.ID.Namespace, r.ID.Name)
	}
	switch {
	case fault.IsMissing(err):
		return nil, nil
	case err != nil:
		return nil, err
	}
	r.findSecrets(ctx, live)
	return live, nil
}

// compare computes the effect of a PATCH.
func (r *resource) compare(ctx context.Context) Row {
	owner := r.snapshot.Owner
	if r.live != nil && r.live.GetDeletionTimestamp() != nil {
		if len(kube.DefinedKinds(r.live)) > 0 {
			return r.failed(write.CRDTerminating(r.live))
		}
		return r.recreated(ctx, "the old object is being deleted"+kube.DeletionBlockers(r.live)+"; the new one is applied when it is gone")
	}
	if r.live != nil {
		if err := owner.MembershipError(r.live, r.findSet); err != nil {
			return r.failed(err)
		}
	}
	merged, err := r.dryRun(ctx, r.sent, false)
	if r.live != nil && (fault.IsFieldConflict(err) || apierrors.IsInvalid(err)) && write.KeepKappLabels(r.sent, r.live) {
		merged, err = r.dryRun(ctx, r.sent, false)
	}
	if fault.IsFieldConflict(err) && r.live != nil {
		merged, err = r.force(ctx, err)
	}
	if err != nil {
		if r.isAboutUnknown(err) {
			return r.deferredChange(ctx, r.unknown)
		}
		return r.rejected(ctx, redact.Error(r.manifest, err))
	}
	if err := owner.AnswerError(merged); err != nil {
		return r.failed(err)
	}
	r.row.Live, r.row.Merged = r.shown(r.live), r.shown(r.withoutPreviousFields(ctx, merged))
	if r.live != nil {
		r.row.Owners.Left = r.leftFields(merged)
	}
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

// force returns the result of a PATCH that is in conflict if a run would take all fields in
// conflict, otherwise the fields that it would not take.
func (r *resource) force(ctx context.Context, conflict error) (*unstructured.Unstructured, error) {
	owner := r.snapshot.Owner
	former := owner.FormerSetManagers(r.live)
	forced, err := r.dryRun(ctx, r.sent, true)
	if err != nil {
		if owner.MayTake(conflict, former) {
			return nil, err
		}
		return nil, conflict
	}
	agreeing, rest := write.Disagreeing(conflict, r.live, forced)
	if rest != nil && !owner.MayTake(rest, former) {
		return nil, rest
	}
	r.row.Owners.Agreeing = agreeing
	return forced, nil
}

// rejected returns the row for an error of the dry run.
func (r *resource) rejected(ctx context.Context, err error) Row {
	switch missing := fault.MissingNamespace(err); {
	case missing != "" && r.index.HasNamespace(missing):
		return r.deferred("its Namespace is created earlier in this stream")
	case missing != "" && r.KindTimeout > 0:
		return r.deferred(fmt.Sprintf("the run waits up to %s for its Namespace: %v", r.KindTimeout, r.explain(err)))
	case r.index.HasServiceAccount(fault.MissingServiceAccount(err)):
		return r.deferred("its ServiceAccount is created earlier in this stream")
	case r.live == nil || !apierrors.IsInvalid(err):
		return r.failed(r.explain(err))
	}
	if kept := write.StoredVersionsDetail(err); r.GoingBack && r.ID.IsCRD() && kept != "" {
		r.row.Action, r.row.Detail = ActionUnchanged, kept
		return r.row
	}
	fields := write.ImmutableFields(err)
	if !r.mayRecreate(r.manifest) && len(fields) > 0 {
		return r.failed(write.ImmutableError(fields, r.ID.Kind))
	}
	if r.mayRecreate(r.manifest) && recreate.IsCandidate(r.manifest, err) {
		check := recreate.Check{Cluster: r.Cluster, Owner: r.snapshot.Owner, Bodies: r.snapshot.Bodies, Manifests: r.snapshot.Manifests}
		switch why := check.Prove(ctx, recreate.Candidate{Kind: r.kind, Manifest: r.manifest, Live: r.live, Refusal: err}); {
		case why == nil:
			return r.recreated(ctx, write.JoinFields(write.InvalidFields(err))+" cannot be changed")
		case !errors.Is(why, recreate.ErrOtherCause):
			return r.failed(why)
		}
	}
	if blocked := write.FindBlockers(r.live, r.sent, err, r.snapshot.Owner); blocked != nil {
		return r.unblocked(blocked)
	}
	return r.failed(r.explain(err))
}

// unblocked returns the row of a PATCH that is rejected because of fields that
// the run would remove.
func (r *resource) unblocked(why *write.Blocked) Row {
	if !why.Removable(r.mayRemoveFrom) {
		return r.failed(why)
	}
	r.row.Action, r.row.Detail = ActionUpdate, "this removes "+why.Fields()+", which cannot be combined with the manifest"
	r.row.Live, r.row.Merged = r.shown(r.live), r.shown(why.Removed(r.live, r.sent))
	return r.row
}

// mayRemoveFrom reports whether a run removes fields of a manager that block its PATCH.
func (r *resource) mayRemoveFrom(manager string) bool {
	return r.snapshot.Owner.Force.From(manager) || slices.Contains(r.takeover().Of(r.live, r.left()).Managers, manager)
}

// takeover decides whose fields a run takes over.
func (r *resource) takeover() write.Takeover { return r.snapshot.Owner.Takeover(r.live) }

func (r *resource) left() write.Left { return r.snapshot.Bodies.LeftToOthers(r.manifest) }

// leftFields returns the fields that leave the manifest and stay on the object.
func (r *resource) leftFields(merged *unstructured.Unstructured) []event.LeftFields {
	owner := r.snapshot.Owner
	return slices.DeleteFunc(owner.LeftFields(owner.OwnEntries(r.live), merged), func(left event.LeftFields) bool {
		return slices.Contains(r.row.Owners.TakenFrom, left.Manager)
	})
}

// recreated returns the row of an object that is deleted and created again.
func (r *resource) recreated(ctx context.Context, why string) Row {
	r.row.Action, r.row.Detail = ActionRecreate, why
	r.row.Live, r.row.Merged = r.shown(r.live), r.recreate(ctx)
	return r.row
}

// recreate returns the live object as if it were created again. The dry run uses
// another name, since its own is taken; nil when it fails.
func (r *resource) recreate(ctx context.Context) *unstructured.Unstructured {
	const suffix = "-anew"
	name := r.sent.GetName()
	other, err := r.snapshot.Bodies.Body(r.manifest) // a new object has no other managers
	if err != nil {
		return nil
	}
	other.SetName(name[:min(len(name), 63-len(suffix))] + suffix)
	merged, err := r.dryRun(ctx, other, false)
	if err != nil {
		return nil
	}
	own := map[string]string{other.GetName(): name, string(merged.GetUID()): string(r.live.GetUID())}
	return r.shown(&unstructured.Unstructured{Object: renamed(merged.Object, own).(map[string]any)})
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
	owner, live := r.snapshot.Owner, r.live
	if live == nil || !owner.HasPreviousManagerFields(live, r.left()) && !owner.HasPreviousManagerFields(merged, r.left()) {
		return merged
	}
	in := r.takeover().With(merged).Of(merged, r.left())
	r.row.Owners.TakenFrom = r.takeover().Of(live, r.left()).Managers
	own := write.OwnedBy(merged, func(entry metav1.ManagedFieldsEntry) bool {
		return entry.Manager == owner.Manager && entry.Operation == metav1.ManagedFieldsOperationApply
	})
	out := merged.DeepCopy()
	var fresh any
	if created := r.recreate(ctx); created != nil {
		fresh = created.Object
	}
	write.Drop(out.Object, fresh, in.Migrated, in.Kept.Union(own))
	return out
}

// dryRun sends a PATCH as a server-side dry run. Transient failures are
// retried.
func (r *resource) dryRun(ctx context.Context, sent *unstructured.Unstructured, force bool) (*unstructured.Unstructured, error) {
	options := kube.PatchOptions{Manager: r.snapshot.Owner.Manager, Force: force, DryRun: true}
	return kube.WithRetry(ctx, kube.DescribeRequest("dry run of", r.kind, sent.GetNamespace(), sent.GetName()), func() (*unstructured.Unstructured, error) {
		live, err := write.Apply(ctx, r.Cluster, r.kind, sent, options)
		if err != nil {
			err = redact.Without(redact.Error(sent, err), r.row.hidden)
		}
		return live, err
	})
}

// adoptReason explains why an object is adopted.
func (r *resource) adoptReason() string {
	if r.snapshot.Owner.Set != "" {
		return "it exists and is not a member of the apply set yet"
	}
	return "it exists and was never applied by " + r.snapshot.Owner.Manager
}

// deferred defers a row to the run. Merged is then the sent object.
func (r *resource) deferred(why string) Row {
	r.row.Action, r.row.Detail = ActionDeferred, why
	r.row.Merged = r.shown(r.snapshot.Bodies.WithoutFingerprint(r.manifest))
	return r.row
}

// deferredChange defers a row of an object that may exist. Merged is then the live object
// with the manifest's fields, as far as that is known without the new schema.
func (r *resource) deferredChange(ctx context.Context, why string) Row {
	kind, served := kube.KindsOf(r.Cluster)(r.manifest.GroupVersionKind())
	if !served {
		return r.deferred(why)
	}
	r.kind = kind
	live, err := r.readLive(ctx)
	if err != nil || live == nil {
		return r.deferred(why)
	}
	sent := r.snapshot.Bodies.WithoutFingerprint(r.manifest)
	merged, owner := live.DeepCopy(), r.snapshot.Owner
	write.Overlay(merged.Object, sent.DeepCopy().Object, write.OwnedByAny(live))
	others := write.OwnedBy(live, func(entry metav1.ManagedFieldsEntry) bool { return !owner.IsOwnEntry(entry) })
	write.Drop(merged.Object, nil, owner.FieldsNotIn(live, sent), others)
	r.row.Action, r.row.Detail = ActionDeferred, why
	r.row.Live, r.row.Merged = withoutServerFields(live), withoutServerFields(merged)
	return r.row
}

// failed returns the row of a resource that the run would fail.
func (r *resource) failed(cause error) Row {
	cause = redact.Without(cause, r.row.hidden)
	r.row.Action = ActionError
	r.row.Err = &event.Error{Wave: r.Plan.WaveTitle(r.Wave), Op: event.OpApply, ID: r.ID, Err: cause}
	return r.row
}

// shown returns an object as a row shows it: without the fields that do not come from a
// manifest. The status of a custom resource without the subresource does.
func (r *resource) shown(obj *unstructured.Unstructured) *unstructured.Unstructured {
	out := withoutServerFields(obj)
	if obj == nil || r.kind.HasStatus || r.kind.Resource.Resource == "" || object.IsNative(r.kind.Resource.Group) {
		return out
	}
	if status, has := obj.Object["status"]; has {
		out.Object["status"] = runtime.DeepCopyJSONValue(status)
	}
	return out
}

// explain adds a remedy to an error of the API server.
func (r *resource) explain(err error) error {
	return write.ExplainInvalid(err, r.index.HasNamespace)
}
