// Package preview finds out what a run would do, without doing it: it reads the live
// objects, and sends server-side dry runs of objects not proven unchanged. So it also shows
// drift: changes in the cluster since the last apply.
//
//	found, err := preview.Of(ctx, preview.Input{Cluster: kube.NewReadOnly(cluster), Plan: plan, Objects: stream.Objects, Manager: "my-tool"})
//	for _, row := range found.Rows {
//		fmt.Println(row.Action, row.ID, row.Detail)
//	}
package preview

import (
	"context"
	"crypto/sha256"
	"errors"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/internal/kube/redact"
	"github.com/ordapply/ordapply/internal/live/fill"
	"github.com/ordapply/ordapply/internal/live/write"
	"github.com/ordapply/ordapply/internal/plan/mutation"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// Action is the action of a run on a resource.
type Action string

// The actions.
const (
	ActionCreate    Action = "create"    // it does not exist
	ActionAdopt     Action = "adopt"     // it exists, and was never applied by this manager, or to this set
	ActionUpdate    Action = "update"    // a PATCH would change it
	ActionUnchanged Action = "unchanged" // nothing would change, or a member of the set would be kept
	ActionRecreate  Action = "recreate"  // delete it and create it again, or wait until a terminating one is gone
	// ActionDeferred is for resources whose Namespace or kind the same stream
	// creates: only the run itself can find out.
	ActionDeferred Action = "deferred"
	ActionPrune    Action = "prune" // after the last wave
	// ActionError is for errors of the run.
	ActionError Action = "error"
)

// Actions returns all actions in the order in which summaries list them.
func Actions() []Action {
	return []Action{ActionCreate, ActionAdopt, ActionUpdate, ActionRecreate, ActionPrune, ActionUnchanged, ActionDeferred, ActionError}
}

// Row is the preview of one resource.
type Row struct {
	ID     object.ID
	Layer  string          // the layer that the resource is in; "" for none
	Wave   int             // index into the plan's waves; -1 if it is pruned
	Action Action          // the run's action
	Why    ordering.Reason // for its place; for pruned resources: for the deletion
	Detail string          // explains the action; may be ""
	// Live is the live object and Merged the result, both without the fields
	// that only the server writes. They are nil when the object does not
	// exist or is not known: an unchanged resource is not read, and one whose
	// kind is not served cannot be read. Values of Secrets are masked: within
	// one preview the same value has the same placeholder, and another one in
	// the next.
	Live, Merged *unstructured.Unstructured
	Err          error // an *event.Error, with ActionError
	// Owners are the run's findings about other field managers.
	Owners event.FieldOwners

	digest   [sha256.Size]byte // see Digest
	secrets  []mutation.Place  // of values of Secrets in an object of another kind
	hidden   []string          // these values, in the forms of redact.Forms
	rejected bool              // by a CustomResourceDefinition of the stream
}

// hideValues masks the values of a Secret, or taken from one.
func (r *Row) hideValues(mask *redact.Masker) {
	maskPlaces(r.Live, r.secrets, mask)
	maskPlaces(r.Merged, r.secrets, mask)
	if r.ID.Kind == "Secret" && r.ID.Group == "" {
		mask.Mask(r.Live, r.Merged)
	}
}

// hideTexts hides values of Secrets in the texts about the resource: the path of a field
// contains the keys of list items.
func (r *Row) hideTexts() {
	replacer := redact.NewReplacer(r.hidden)
	r.Detail = replacer.Line(r.Detail)
	r.Owners.Left = write.RedactLeftFields(r.Owners.Left, replacer)
}

// Preview describes what a run would do, in plan order.
type Preview struct {
	Rows  []Row    // in plan order, then pruned ones
	Notes []string // remarks for people
	// HookEvents are the events whose hooks would run; nil if the stream has none.
	HookEvents []string
	HookErrors []error // with which hooks would fail
	// FormerOrders are the SortOrders of the newest revision of the set, if the plan has none.
	FormerOrders []string
	masker       *redact.Masker
	origins      *fill.Origins
}

// Err joins the errors that the run would return; nil when there are none.
func (p *Preview) Err() error {
	errs := slices.Clone(p.HookErrors)
	for _, row := range p.Rows {
		errs = append(errs, row.Err)
	}
	return errors.Join(errs...)
}

// Count returns the number of resources with an action.
func (p *Preview) Count(action Action) int {
	n := 0
	for _, row := range p.Rows {
		if row.Action == action {
			n++
		}
	}
	return n
}

// Changes reports whether the run would change anything. Deferred resources count
// as changes.
func (p *Preview) Changes() bool { return p.Count(ActionUnchanged)+p.Count(ActionError) < len(p.Rows) }

// AddPruned adds a live object that would be deleted after the last wave, or
// that would be kept: keepReason is the reason to keep it, "" when it is deleted.
func (p *Preview) AddPruned(ctx context.Context, live *unstructured.Unstructured, why ordering.Reason, keepReason string) {
	row := Row{ID: kube.Meta(live).ID, Wave: -1, Action: ActionPrune, Why: why, Live: withoutServerFields(live), digest: sha256.Sum256([]byte(live.GetUID()))}
	if keepReason != "" {
		row.Action, row.Detail, row.Live = ActionUnchanged, "kept: "+keepReason, nil
	}
	row.secrets = p.origins.PlacesIn(ctx, row.Live)
	row.hideValues(p.masker)
	p.Rows = append(p.Rows, row)
}

// withoutServerFields returns an object without the fields that do not come from a
// manifest: the server's own, and ordapply's fingerprint.
func withoutServerFields(obj *unstructured.Unstructured) *unstructured.Unstructured {
	if obj == nil {
		return nil
	}
	out := obj.DeepCopy()
	delete(out.Object, "status")
	for _, field := range []string{"managedFields", "uid", "resourceVersion", "creationTimestamp", "generation", "selfLink"} {
		unstructured.RemoveNestedField(out.Object, "metadata", field)
	}
	if annotations := out.GetAnnotations(); annotations != nil {
		delete(annotations, applyset.AppliedAnnotation)
		if len(annotations) == 0 {
			annotations = nil
		}
		out.SetAnnotations(annotations)
	}
	return out
}

// equalObjects reports whether two objects of withoutServerFields are equal.
func equalObjects(live, merged *unstructured.Unstructured) bool {
	return reflect.DeepEqual(live.Object, merged.Object)
}
