package preview

import (
	"context"
	"reflect"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/internal/kube/fault"
	"github.com/ordapply/ordapply/internal/kube/redact"
	"github.com/ordapply/ordapply/internal/live/fill"
	"github.com/ordapply/ordapply/internal/plan/mutation"
	"github.com/ordapply/ordapply/object"
)

// A manifest may take values of other objects (config.kubernetes.io/apply-time-mutation). Of
// an object that the run does not change they are read, so that the row shows the result.
// Others are shown as known after the apply.

// fillRows makes the rows of the steps that take values of other objects: one after the
// other, since these may take values of each other.
func (r *run) fillRows(ctx context.Context, rows []Row) {
	for i := range rows {
		if !r.isTemplate(i) {
			continue
		}
		sources := r.sources()
		sources.IsOpen = func(id object.ID) bool {
			at, planned := r.index[id]
			return planned && rows[at].Action != ActionUnchanged
		}
		res := r.resource(i)
		filled, err := sources.Fill(ctx, res.manifest, r.secretive)
		if err != nil {
			rows[i] = res.failed(err)
			continue
		}
		r.snapshot.Manifests[i], r.filled[i] = filled.Manifest, filled
		res = r.resource(i)
		rows[i] = res.withUnknown(res.preview(ctx))
	}
}

func (r *run) sources() fill.Sources {
	return fill.Sources{Cluster: r.Cluster, Version: r.versionInStream}
}

// findSecrets records the values that the live object has taken from Secrets: the dry run
// may keep them, and an error may repeat them.
func (r *resource) findSecrets(ctx context.Context, live *unstructured.Unstructured) {
	if live == nil || !mutation.In(live.Object) {
		return
	}
	places := r.sources().Origins(r.secretive).PlacesIn(ctx, live)
	r.row.secrets = append(r.row.secrets, places...)
	r.row.hidden = append(r.row.hidden, redact.Forms(mutation.ValuesAt(places, live.Object)...)...)
}

// isTemplate reports whether a step takes values of other objects.
func (r *run) isTemplate(i int) bool { return mutation.In(r.snapshot.Manifests[i].Object) }

func (r *run) versionInStream(id object.ID) string {
	if at, ok := r.index[id]; ok {
		return r.snapshot.Manifests[at].GroupVersionKind().Version
	}
	return ""
}

// withUnknown adds to a row the values known only after the apply.
func (r *resource) withUnknown(row Row) Row {
	switch {
	case r.unknown == "" || row.Action == ActionUnchanged || row.Action == ActionError:
	case row.Detail == "":
		row.Detail = r.unknown
	case row.Detail != r.unknown:
		row.Detail += "; " + r.unknown
	}
	return row
}

// isAboutUnknown reports whether a dry run may have been refused only because of the
// placeholders of values that are not known yet.
func (r *resource) isAboutUnknown(err error) bool {
	return r.unknown != "" && !fault.IsFieldConflict(err) &&
		(apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) || fault.IsSchemaError(err) || fault.IsDenied(err))
}

// lastApplied is where kubectl and kapply keep a copy of a manifest.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// maskPlaces masks the values at places of an object that come from Secrets.
func maskPlaces(obj *unstructured.Unstructured, places []mutation.Place, mask *redact.Masker) {
	if obj == nil || len(places) == 0 {
		return
	}
	mutation.ChangeAt(places, obj.Object, mask.Value)
	if annotations := obj.GetAnnotations(); annotations[lastApplied] != "" {
		annotations[lastApplied] = mask.Value(annotations[lastApplied]).(string)
		obj.SetAnnotations(annotations)
	}
}

// wordsAt returns copies of the sent object, the live object and the result, with words in
// place of values that come from Secrets.
func wordsAt(places []mutation.Place, sent, live, merged map[string]any) (_, _, _ map[string]any) {
	said := func(fields map[string]any, word string) map[string]any {
		if fields == nil {
			return nil
		}
		out := (&unstructured.Unstructured{Object: fields}).DeepCopy()
		mutation.ChangeAt(places, out.Object, func(any) any { return word })
		unstructured.RemoveNestedField(out.Object, "metadata", "annotations", lastApplied)
		return out.Object
	}
	before, after := "(value)", "(value)"
	if !reflect.DeepEqual(mutation.ValuesAt(places, live), mutation.ValuesAt(places, merged)) {
		before, after = "(before)", "(after)"
	}
	return said(sent, "(value)"), said(live, before), said(merged, after)
}
