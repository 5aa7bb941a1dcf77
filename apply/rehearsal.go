package apply

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/internal/kubeerr"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
)

// previewRun computes for each step what a run would do, with server-side dry
// runs. The rows are made concurrently, so nothing of the embedded run is
// written after that starts.
type previewRun struct {
	*run
	namespaces map[string]namespaceState          // by name of the Namespace
	setName    func(set, namespace string) string // see nameSets
}

// namespaceState is the state of a Namespace that objects of the stream are in.
type namespaceState struct {
	inStream    bool   // the stream contains it
	justCreated bool   // Send has just created it
	absent      bool   // it does not exist
	terminating bool   // it is terminating
	blockedBy   string // what blocks its deletion
}

// readNamespaces reads the Namespaces that the stream uses. One that does not
// exist and is not in the stream, or may not be read, is found out by the dry
// run of an apply to it.
func (r *previewRun) readNamespaces(ctx context.Context) {
	kind, ok := r.applier.Cluster.Kind(schema.GroupVersionKind{Version: "v1", Kind: "Namespace"})
	for i := range r.steps {
		name := r.steps[i].ID.Namespace
		if _, known := r.namespaces[name]; known || name == "" || !ok {
			continue
		}
		live, err := r.applier.Cluster.Get(ctx, kind, "", name)
		h := namespaceState{inStream: r.hasNamespace(name), absent: kubeerr.IsMissing(err)}
		h.justCreated = slices.Contains(r.applier.Sent, object.ID{Kind: "Namespace", Name: name})
		if err == nil && live.GetDeletionTimestamp() != nil {
			h.terminating, h.blockedBy = true, kube.DeletionBlockers(live)
		}
		r.namespaces[name] = h
	}
}

// row computes what would happen to one resource.
func (r *previewRun) row(ctx context.Context, i int) Row {
	s := &r.steps[i]
	row := Row{ID: s.ID, Layer: s.Layer, Wave: s.Wave, Why: s.Why}
	gvk := s.manifest.GroupVersionKind()
	kind, served := r.kind(gvk)
	h := r.namespaces[s.ID.Namespace]
	switch {
	case !served && len(s.ProvidedBy) > 0:
		return r.deferRow(i, row, fmt.Sprintf("its kind is provided by %s earlier in this stream", s.ProvidedBy[0]))
	case !served:
		return r.failRow(row, r.unservedKindError(gvk, 0))
	case kind.Namespaced && s.ID.Namespace == "":
		return r.failRow(row, missingNamespaceError(s.ID.Kind))
	case h.terminating && !h.inStream:
		return r.failRow(row, kubeerr.NamespaceTerminating(s.ID.Namespace, h.blockedBy))
	case h.terminating:
		return r.deferRow(i, row, "its Namespace is being deleted"+h.blockedBy+"; this stream creates it again")
	case h.absent && h.inStream:
		return r.deferRow(i, row, "its Namespace is created earlier in this stream")
	}
	if err := checkBase64(s.manifest); err != nil {
		return r.failRow(row, err)
	}
	sent, err := r.patchBody(i)
	if err != nil {
		return r.failRow(row, err)
	}
	if s.listedObject != nil && r.compareWithLive(i, s.listedObject) == applyset.Same {
		row.Action = ActionUnchanged
		return row
	}
	live, err := r.readLive(ctx, i, kind)
	if err != nil {
		return r.failRow(row, r.explain(kubeerr.WithoutSecretValues(s.manifest, err)))
	}
	if live == nil && h.justCreated { // its default contents may not have been created yet
		return r.deferRow(i, row, "its Namespace is created earlier in this stream")
	}
	return r.compare(ctx, i, kind, sent, live, row)
}

// compare computes what a PATCH would do to a live object; nil when it does
// not exist.
func (r *previewRun) compare(ctx context.Context, i int, kind kube.Kind, sent, live *unstructured.Unstructured, row Row) Row {
	s := &r.steps[i]
	if live != nil && live.GetDeletionTimestamp() != nil {
		if len(kube.DefinedKinds(live)) > 0 {
			return r.failRow(row, crdTerminatingError(live))
		}
		row.Action, row.Detail = ActionRecreate, "the old object is being deleted"+kube.DeletionBlockers(live)+"; the new one is applied when it is gone"
		row.Live, row.Merged = withoutServerFields(live), r.previewRecreate(ctx, kind, sent, live)
		return row
	}
	if live != nil {
		if err := r.applier.Membership.membershipError(live, r.setName); err != nil {
			return r.failRow(row, err)
		}
	}
	merged, err := r.dryRun(ctx, kind, sent, false)
	if err != nil && (r.applier.conflictsOnlyWithPrevious(err) || r.applier.mayForce(err)) {
		merged, err = r.dryRun(ctx, kind, sent, true)
	}
	if err != nil {
		return r.handleDryRunError(ctx, i, kind, sent, live, row, kubeerr.WithoutSecretValues(s.manifest, err))
	}
	row.Live, row.Merged = withoutServerFields(live), withoutServerFields(r.withoutPreviousFields(ctx, kind, sent, merged, live))
	switch {
	case live == nil:
		row.Action = ActionCreate
	case !r.isOurs(live):
		row.Action, row.Detail = ActionAdopt, r.adoptReason()
	case equalObjects(row.Live, row.Merged):
		row.Action = ActionUnchanged
	default:
		row.Action = ActionUpdate
	}
	return row
}

// handleDryRunError returns what a run would do about an error of the dry run.
func (r *previewRun) handleDryRunError(ctx context.Context, i int, kind kube.Kind, sent, live *unstructured.Unstructured, row Row, err error) Row {
	s := &r.steps[i]
	fields := immutableFields(err)
	if live != nil && len(fields) == 0 && apierrors.IsInvalid(err) {
		if blockers := blockersOf(live, sent, err, r.applier.Manager); len(blockers) > 0 {
			return r.previewUnblock(sent, live, row, &blocked{err, blockers})
		}
	}
	switch missing := kubeerr.MissingNamespace(err); {
	case missing != "" && r.hasNamespace(missing):
		return r.deferRow(i, row, "its Namespace is created earlier in this stream")
	case r.hasServiceAccount(kubeerr.MissingServiceAccount(err)):
		return r.deferRow(i, row, "its ServiceAccount is created earlier in this stream")
	case len(fields) > 0 && live != nil && mayRecreate(s.manifest) && r.applier.recreateRefusal(s.manifest, live, fields) != nil:
		return r.failRow(row, r.applier.recreateRefusal(s.manifest, live, fields))
	case len(fields) > 0 && live != nil && mayRecreate(s.manifest):
		row.Action, row.Detail = ActionRecreate, joinFields(fields)+" cannot be changed"
		row.Live, row.Merged = withoutServerFields(live), r.previewRecreate(ctx, kind, sent, live)
		return row
	case len(fields) > 0:
		return r.failRow(row, immutableFieldsError(fields, s.ID.Kind))
	}
	return r.failRow(row, r.explain(err))
}

// previewUnblock returns the row of a PATCH that is rejected because of fields that
// the run would remove.
func (r *previewRun) previewUnblock(sent, live *unstructured.Unstructured, row Row, why *blocked) Row {
	if !r.applier.mayRemove(why.blockers) {
		return r.failRow(row, why)
	}
	row.Action, row.Detail = ActionUpdate, "this removes "+describe(why.blockers)+", which cannot be combined with the manifest"
	row.Live, row.Merged = withoutServerFields(live), withoutServerFields(unblocked(live, sent, why.blockers))
	return row
}

// previewRecreate returns what a live resource would be if it were created again. The
// dry run uses another name, since its own is taken; nil when it fails.
func (r *previewRun) previewRecreate(ctx context.Context, kind kube.Kind, sent, live *unstructured.Unstructured) *unstructured.Unstructured {
	const suffix = "-anew"
	name := sent.GetName()
	other := sent.DeepCopy()
	other.SetName(name[:min(len(name), 63-len(suffix))] + suffix)
	merged, err := r.dryRun(ctx, kind, other, false)
	if err != nil {
		return nil
	}
	own := map[string]string{other.GetName(): name, string(merged.GetUID()): string(live.GetUID())}
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

// dryRun sends a PATCH as a server-side dry run. Transient failures are
// retried.
func (r *previewRun) dryRun(ctx context.Context, kind kube.Kind, sent *unstructured.Unstructured, force bool) (*unstructured.Unstructured, error) {
	options := kube.PatchOptions{Manager: r.applier.Manager, Force: force, DryRun: true}
	return kube.WithRetry(ctx, kube.DescribeRequest("dry run of", kind, sent.GetNamespace(), sent.GetName()), func() (*unstructured.Unstructured, error) {
		live, err := r.applier.patch(ctx, kind, sent, options)
		if err != nil {
			err = kubeerr.WithoutSecretValues(sent, err)
		}
		return live, err
	})
}

// readLive returns the whole live object of a step, nil when it does not exist.
func (r *previewRun) readLive(ctx context.Context, i int, kind kube.Kind) (*unstructured.Unstructured, error) {
	s := &r.steps[i]
	if s.list != nil && (s.listedObject == nil || !s.list.metadata) {
		return s.listedObject, nil
	}
	live, err := r.applier.Cluster.Get(ctx, kind, s.ID.Namespace, s.ID.Name)
	if kubeerr.IsMissing(err) {
		return nil, nil
	}
	return live, err
}

// isOurs reports whether a live object is a member of the run's set, or,
// without a set, was ever applied by this manager.
func (r *previewRun) isOurs(live *unstructured.Unstructured) bool {
	if r.applier.Membership.Set != "" {
		return applyset.Owner(live) == r.applier.Membership.Set
	}
	return slices.ContainsFunc(live.GetManagedFields(), func(entry metav1.ManagedFieldsEntry) bool {
		return entry.Manager == r.applier.Manager && entry.Operation == metav1.ManagedFieldsOperationApply
	})
}

// adoptReason explains why an object is adopted.
func (r *previewRun) adoptReason() string {
	if r.applier.Membership.Set != "" {
		return "it exists and is not a member of the apply set yet"
	}
	return "it exists and was never applied by " + r.applier.Manager
}

// patchWithoutFingerprint returns the body of a step's PATCH without the fingerprint.
func (r *previewRun) patchWithoutFingerprint(i int) *unstructured.Unstructured {
	s := &r.steps[i]
	sent := desired(s.manifest, r.schemas[s.manifest.GroupVersionKind()], r.autoscaled[s.ID])
	r.applier.Membership.label(sent)
	return sent
}

// deferRow defers a row to the run. Merged is then what is sent.
func (r *previewRun) deferRow(i int, row Row, why string) Row {
	row.Action, row.Detail = ActionDeferred, why
	row.Merged = withoutServerFields(r.patchWithoutFingerprint(i))
	return row
}

func (r *previewRun) failRow(row Row, cause error) Row {
	row.Action = ActionError
	row.Err = &Error{Wave: r.plan.WaveTitle(row.Wave), Op: OpApply, ID: row.ID, Err: cause}
	return row
}

// deferOldSchemaErrors defers resources that the server rejects only because their
// CustomResourceDefinition changes earlier in the stream.
func (r *previewRun) deferOldSchemaErrors(rows []Row) {
	for i := range rows {
		err := rows[i].Err
		if err == nil || !kubeerr.IsUnknownField(err) && !apierrors.IsInvalid(err) {
			continue
		}
		for _, maker := range r.steps[i].ProvidedBy {
			if at, ok := r.byID[maker]; ok && rows[at].Action != ActionUnchanged && rows[at].Action != ActionError {
				why := fmt.Sprintf("its kind is changed by %s earlier in this stream", maker)
				rows[i] = r.deferRow(i, Row{ID: rows[i].ID, Layer: rows[i].Layer, Wave: rows[i].Wave, Why: rows[i].Why}, why)
				break
			}
		}
	}
}
