// Package desired builds the object that a run sends for a manifest: the manifest without
// what only the API server, a controller or the plan needs, labelled as a member of the
// apply set, with a fingerprint by which a later run recognizes it.
//
//	bodies := desired.NewStream(stream.Objects, set)
//	body, err := bodies.Body(manifest)
//	live, err := desired.Apply(ctx, cluster, kind, body, kube.PatchOptions{Manager: "ordapply"})
package desired

import (
	"context"
	"encoding/base64"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/internal/declared"
	"github.com/ordapply/ordapply/internal/ignorefields"
	"github.com/ordapply/ordapply/internal/stamp"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
)

// Stream is what one object of a stream needs to know of the others. It is not
// changed after NewStream. The zero value is a stream of unrelated objects that become
// members of no set.
type Stream struct {
	Set        string // the id of the apply set whose members the objects become; "" for none
	schemas    map[schema.GroupVersionKind]map[string]any
	autoscaled map[object.ID]bool // targets of the stream's autoscalers
}

// NewStream returns the stream of these manifests, whose objects become members of an
// apply set; "" for none.
func NewStream(manifests map[object.ID]*unstructured.Unstructured, set string) Stream {
	return Stream{Set: set, schemas: streamSchemas(manifests), autoscaled: scaledTargets(manifests)}
}

// Defines reports whether a CustomResourceDefinition of the stream defines a kind.
func (s Stream) Defines(kind schema.GroupVersionKind) bool {
	_, defined := s.schemas[kind]
	return defined
}

// Body returns the body of a manifest's PATCH. The error is that of the fingerprint:
// a value that JSON cannot hold.
func (s Stream) Body(manifest *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	out := s.WithoutFingerprint(manifest)
	return out, SetFingerprint(out)
}

// BodyFor returns the body of a manifest's PATCH to a live object, nil if there is none:
// without the fields that the manifest leaves to other managers (ordapply.dev/ignore-fields)
// and that are in foreign, which returns the fields of other managers.
func (s Stream) BodyFor(manifest, live *unstructured.Unstructured, foreign func(live *unstructured.Unstructured) *fieldpath.Set) (*unstructured.Unstructured, error) {
	out := s.WithoutFingerprint(manifest)
	if paths := ignorefields.Of(manifest.GetAnnotations()); len(paths) > 0 && live != nil {
		ignorefields.Leave(paths, out.Object, foreign(live))
	}
	return out, SetFingerprint(out)
}

// WithoutFingerprint returns the body of a manifest's PATCH without its fingerprint.
func (s Stream) WithoutFingerprint(manifest *unstructured.Unstructured) *unstructured.Unstructured {
	scaled := len(s.autoscaled) > 0 && s.autoscaled[kube.Meta(manifest).ID]
	out := desired(manifest, s.schemas[manifest.GroupVersionKind()], scaled)
	if s.Set != "" {
		labels := out.GetLabels()
		if labels == nil {
			labels = map[string]string{}
		}
		labels[applyset.PartOfLabel] = s.Set
		out.SetLabels(labels)
	}
	return out
}

// SetFingerprint adds the fingerprint to an object that is sent. The uid and the
// resourceVersion that a PATCH may contain do not enter it, and neither do ignored
// fields: it is the same whether another manager owns them or not.
func SetFingerprint(body *unstructured.Unstructured) error {
	annotations := body.GetAnnotations()
	printed := body
	if paths := ignorefields.Of(annotations); len(paths) > 0 {
		printed = body.DeepCopy()
		ignorefields.Remove(paths, printed.Object)
	}
	uid, version := printed.GetUID(), printed.GetResourceVersion()
	printed.SetUID("")
	printed.SetResourceVersion("")
	print, err := applyset.Fingerprint(printed)
	printed.SetUID(uid)
	printed.SetResourceVersion(version)
	if err != nil {
		return err
	}
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[applyset.AppliedAnnotation] = print
	body.SetAnnotations(annotations)
	return nil
}

// Patcher sends a server-side apply, as kube.Cluster does.
type Patcher interface {
	Apply(context.Context, kube.Kind, *unstructured.Unstructured, kube.PatchOptions) (*unstructured.Unstructured, error)
}

// Apply applies a body. Where the server rejects a null field, Apply drops the field
// from the body and applies again. The error is that of the API server.
func Apply(ctx context.Context, cluster Patcher, kind kube.Kind, body *unstructured.Unstructured, options kube.PatchOptions) (*unstructured.Unstructured, error) {
	for {
		live, err := cluster.Apply(ctx, kind, body, options)
		if err == nil || !dropRefusedNulls(body, err) {
			return live, err
		}
		if err := SetFingerprint(body); err != nil {
			return nil, err
		}
	}
}

// desired returns the object as it is sent. It leaves out the fields that
// only the server writes, annotations with keys that the server rejects and
// stamps that only the plan needs, and turns a Secret's stringData into data,
// so that each field has one owner. Explicit nulls are dropped where fields,
// the kind's schema or nil if unknown, does not allow them. Fields that
// controllers fill are left to them; scaled reports that a controller sets
// the replicas.
func desired(obj *unstructured.Unstructured, fields map[string]any, scaled bool) *unstructured.Unstructured {
	out := obj.DeepCopy()
	dropNulls(out, fields)
	delete(out.Object, "status")
	for _, field := range []string{"managedFields", "uid", "resourceVersion", "creationTimestamp", "generation", "selfLink"} {
		unstructured.RemoveNestedField(out.Object, "metadata", field)
	}
	if annotations := out.GetAnnotations(); annotations != nil {
		for _, key := range declared.IllegalAnnotations() {
			delete(annotations, key)
		}
		for _, key := range stamp.Keys() {
			if key != stamp.LayerAnnotation {
				delete(annotations, key)
			}
		}
		out.SetAnnotations(annotations)
	}
	if out.GroupVersionKind() == (schema.GroupVersionKind{Version: "v1", Kind: "Secret"}) {
		foldStringData(out.Object)
	}
	dropControllerFields(out, scaled)
	return out
}

// foldStringData moves a Secret's stringData into data, over keys of the same
// name, as the API server does. Values that are not strings stay for the API
// server to reject.
func foldStringData(secret map[string]any) {
	text, ok := secret["stringData"].(map[string]any)
	data, isMap := secret["data"].(map[string]any)
	if !ok || secret["data"] != nil && !isMap {
		return
	}
	if data == nil {
		data = map[string]any{}
	}
	for key, value := range text {
		if s, ok := value.(string); ok {
			data[key] = base64.StdEncoding.EncodeToString([]byte(s))
			delete(text, key)
		}
	}
	secret["data"] = data
	if len(text) == 0 {
		delete(secret, "stringData")
	}
}
