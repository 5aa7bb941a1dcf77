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
	"github.com/ordapply/ordapply/object"
)

// rehearsal finds out, step by step and with dry runs alone, what a run would
// do. Nothing of the run is written once the rows are made, which is done in
// parallel.
type rehearsal struct {
	*run
	homes map[string]home                    // by name of the Namespace
	named func(set, namespace string) string // see nameSets
}

// home is what is known of a Namespace that objects of the stream live in.
type home struct {
	made   bool   // by the stream
	fresh  bool   // made by it just now
	absent bool   // so far
	going  bool   // it is being deleted
	held   string // by what
}

// visitHomes looks at the Namespaces that the stream uses. That one is not there
// and nothing makes it, or that it may not be read, shows when something is
// applied to it.
func (r *rehearsal) visitHomes(ctx context.Context) {
	kind, ok := r.a.Cluster.Kind(schema.GroupVersionKind{Version: "v1", Kind: "Namespace"})
	for i := range r.steps {
		name := r.steps[i].ID.Namespace
		if _, known := r.homes[name]; known || name == "" || !ok {
			continue
		}
		live, err := r.a.Cluster.Get(ctx, kind, "", name)
		h := home{made: r.makesNamespace(name), absent: missing(err)}
		h.fresh = slices.Contains(r.a.Sent, object.ID{Kind: "Namespace", Name: name})
		if err == nil && live.GetDeletionTimestamp() != nil {
			h.going, h.held = true, HeldBy(live)
		}
		r.homes[name] = h
	}
}

// row is what would happen to one resource.
func (r *rehearsal) row(ctx context.Context, i int) Row {
	s := &r.steps[i]
	row := Row{ID: s.ID, Layer: s.Layer, Wave: s.Wave, Why: s.Why}
	gvk := s.obj.GroupVersionKind()
	kind, served := r.kind(gvk)
	h := r.homes[s.ID.Namespace]
	switch {
	case !served && len(s.MadeBy) > 0:
		return r.later(i, row, fmt.Sprintf("its kind is made by %s, which comes earlier in this stream", s.MadeBy[0]))
	case !served:
		return r.stop(row, r.unserved(gvk, 0))
	case kind.Namespaced && s.ID.Namespace == "":
		return r.stop(row, withoutNamespace(s.ID.Kind))
	case h.going && !h.made:
		return r.stop(row, namespaceGoing(s.ID.Namespace, h.held))
	case h.going:
		return r.later(i, row, "its Namespace is being deleted"+h.held+"; this stream makes it anew")
	case h.absent && h.made:
		return r.later(i, row, "its Namespace comes earlier in this stream")
	}
	if err := misencoded(s.obj); err != nil {
		return r.stop(row, err)
	}
	sent, err := r.patchOf(i)
	if err != nil {
		return r.stop(row, err)
	}
	if s.found != nil && r.prove(i, s.found) == applyset.Same {
		row.Action = WillStay
		return row
	}
	live, err := r.live(ctx, i, kind)
	if err != nil {
		return r.stop(row, r.explain(withoutSecrets(s.obj, err)))
	}
	if live == nil && h.fresh { // what a Namespace comes with may not be in it yet
		return r.later(i, row, "its Namespace comes earlier in this stream")
	}
	return r.compare(ctx, i, kind, sent, live, row)
}

// compare finds out what a PATCH would make of a live object; nil when there is
// none.
func (r *rehearsal) compare(ctx context.Context, i int, kind Kind, sent, live *unstructured.Unstructured, row Row) Row {
	s := &r.steps[i]
	if live != nil && live.GetDeletionTimestamp() != nil {
		if len(definedKinds(live)) > 0 {
			return r.stop(row, crdGoing(live))
		}
		row.Action, row.Detail = WillRecreate, "an older one is being deleted"+HeldBy(live)+"; it is made anew when that is gone"
		row.Live, row.Merged = shown(live), r.anew(ctx, kind, sent, live)
		return row
	}
	if live != nil {
		if err := r.a.Membership.refuses(live, r.named); err != nil {
			return r.stop(row, err)
		}
	}
	merged, err := r.rehearse(ctx, kind, sent, false)
	if err != nil && (r.a.onlyPredecessors(err) || r.a.mayForce(err)) {
		merged, err = r.rehearse(ctx, kind, sent, true)
	}
	if err != nil {
		return r.refused(ctx, i, kind, sent, live, row, withoutSecrets(s.obj, err))
	}
	row.Live, row.Merged = shown(live), shown(r.withoutInheritance(ctx, kind, sent, merged, live))
	switch {
	case live == nil:
		row.Action = WillCreate
	case !r.ours(live):
		row.Action, row.Detail = WillAdopt, r.stranger()
	case same(row.Live, row.Merged):
		row.Action = WillStay
	default:
		row.Action = WillUpdate
	}
	return row
}

// refused tells what a run would do about an answer that is no success.
func (r *rehearsal) refused(ctx context.Context, i int, kind Kind, sent, live *unstructured.Unstructured, row Row, err error) Row {
	s := &r.steps[i]
	fields := immutableFields(err)
	if live != nil && len(fields) == 0 && apierrors.IsInvalid(err) {
		if blockers := blockersOf(live, sent, err, r.a.Manager); len(blockers) > 0 {
			return r.unblocks(sent, live, row, &blocked{err, blockers})
		}
	}
	switch missing := missingNamespace(err); {
	case missing != "" && r.makesNamespace(missing):
		return r.later(i, row, "its Namespace comes earlier in this stream")
	case r.makesAccount(missingAccount(err)):
		return r.later(i, row, "its ServiceAccount comes earlier in this stream")
	case len(fields) > 0 && live != nil && mayRecreate(s.obj) && r.a.mayNotRecreate(s.obj, live, fields) != nil:
		return r.stop(row, r.a.mayNotRecreate(s.obj, live, fields))
	case len(fields) > 0 && live != nil && mayRecreate(s.obj):
		row.Action, row.Detail = WillRecreate, listed(fields)+" cannot be changed"
		row.Live, row.Merged = shown(live), r.anew(ctx, kind, sent, live)
		return row
	case len(fields) > 0:
		return r.stop(row, cannotChange(fields, s.ID.Kind))
	}
	return r.stop(row, r.explain(err))
}

// unblocks is a row whose PATCH is refused because of fields that the run would
// remove.
func (r *rehearsal) unblocks(sent, live *unstructured.Unstructured, row Row, why *blocked) Row {
	if !r.a.mayRemove(why.blockers) {
		return r.stop(row, why)
	}
	row.Action, row.Detail = WillUpdate, "this removes "+describe(why.blockers)+", beside which the manifest cannot be applied"
	row.Live, row.Merged = shown(live), shown(unblocked(live, sent, why.blockers))
	return row
}

// anew is what a live resource would be if it were made anew. The server is asked
// about one of another name, since its own is taken; nil when it does not tell.
func (r *rehearsal) anew(ctx context.Context, kind Kind, sent, live *unstructured.Unstructured) *unstructured.Unstructured {
	const suffix = "-anew"
	name := sent.GetName()
	other := sent.DeepCopy()
	other.SetName(name[:min(len(name), 63-len(suffix))] + suffix)
	merged, err := r.rehearse(ctx, kind, other, false)
	if err != nil {
		return nil
	}
	own := map[string]string{other.GetName(): name, string(merged.GetUID()): string(live.GetUID())}
	return shown(&unstructured.Unstructured{Object: renamed(merged.Object, own).(map[string]any)})
}

// renamed puts other texts in the place of some, wherever they stand alone:
// Jobs carry their own name and uid in labels.
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

// rehearse lets the server do a PATCH and store nothing. What may pass by itself
// at once is tried again.
func (r *rehearsal) rehearse(ctx context.Context, kind Kind, sent *unstructured.Unstructured, force bool) (*unstructured.Unstructured, error) {
	options := PatchOptions{Manager: r.a.Manager, Force: force, DryRun: true}
	return Persist(ctx, actionText("dry run of", kind, sent.GetNamespace(), sent.GetName()), func() (*unstructured.Unstructured, error) {
		live, err := r.a.patch(ctx, kind, sent, options)
		if err != nil {
			err = withoutSecrets(sent, err)
		}
		return live, err
	})
}

// live is the whole live object of a step, nil when there is none.
func (r *rehearsal) live(ctx context.Context, i int, kind Kind) (*unstructured.Unstructured, error) {
	s := &r.steps[i]
	if s.listed != nil && (s.found == nil || !s.listed.metadata) {
		return s.found, nil
	}
	live, err := r.a.Cluster.Get(ctx, kind, s.ID.Namespace, s.ID.Name)
	if missing(err) {
		return nil, nil
	}
	return live, err
}

// ours tells whether a live object is a member of the run's set, or, without a
// set, was ever applied by this manager.
func (r *rehearsal) ours(live *unstructured.Unstructured) bool {
	if r.a.Membership.Set != "" {
		return applyset.Owner(live) == r.a.Membership.Set
	}
	return slices.ContainsFunc(live.GetManagedFields(), func(entry metav1.ManagedFieldsEntry) bool {
		return entry.Manager == r.a.Manager && entry.Operation == metav1.ManagedFieldsOperationApply
	})
}

// stranger says why an object is adopted.
func (r *rehearsal) stranger() string {
	if r.a.Membership.Set != "" {
		return "it is there, and is no member of the apply set yet"
	}
	return "it is there, and was never applied by " + r.a.Manager
}

// sent is what a PATCH of a step holds, but for the fingerprint.
func (r *rehearsal) sent(i int) *unstructured.Unstructured {
	s := &r.steps[i]
	sent := desired(s.obj, r.schemas[s.obj.GroupVersionKind()], r.scaled[s.ID])
	r.a.Membership.label(sent)
	return sent
}

// later defers a row to the run. What is sent is all that is known of the
// resource.
func (r *rehearsal) later(i int, row Row, why string) Row {
	row.Action, row.Detail = WillDefer, why
	row.Merged = shown(r.sent(i))
	return row
}

func (r *rehearsal) stop(row Row, cause error) Row {
	row.Action = WillFail
	row.Err = &Error{Wave: r.plan.WaveTitle(row.Wave), Op: OpApply, ID: row.ID, Err: cause}
	return row
}

// forgiveOldCRDs defers what the server refuses only because its kind is still
// the old one: its CustomResourceDefinition changes earlier in the stream.
func (r *rehearsal) forgiveOldCRDs(rows []Row) {
	for i := range rows {
		err := rows[i].Err
		if err == nil || !unknownField(err) && !apierrors.IsInvalid(err) {
			continue
		}
		for _, maker := range r.steps[i].MadeBy {
			if at, ok := r.byID[maker]; ok && rows[at].Action != WillStay && rows[at].Action != WillFail {
				why := fmt.Sprintf("its kind is changed by %s, which comes earlier in this stream", maker)
				rows[i] = r.later(i, Row{ID: rows[i].ID, Layer: rows[i].Layer, Wave: rows[i].Wave, Why: rows[i].Why}, why)
				break
			}
		}
	}
}
