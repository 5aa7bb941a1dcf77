package write

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/internal/fields"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
)

// Stream is the context of an object in its stream. It is not changed after NewStream. The zero
// value is a stream of unrelated objects that become members of no set.
type Stream struct {
	Set        string                           // the id of the apply set whose members the objects become; "" for none
	Kinds      kube.Kinds                       // how kinds are served; nil: none has a status subresource
	defined    map[schema.GroupVersionKind]bool // kinds of the stream's CustomResourceDefinitions
	autoscaled map[object.ID]bool               // targets of the stream's autoscalers
}

// NewStream returns the stream of these manifests, whose objects become members of an
// apply set; "" for none.
func NewStream(manifests map[object.ID]*unstructured.Unstructured, set string, kinds kube.Kinds) Stream {
	s := Stream{Set: set, Kinds: kinds, defined: map[schema.GroupVersionKind]bool{}, autoscaled: autoscaledTargets(manifests)}
	for _, manifest := range manifests {
		for _, kind := range kube.DefinedKinds(manifest) {
			s.defined[kind] = true
		}
	}
	return s
}

// FieldOwner returns the fields of a live object that a run owns or takes over, and the fields
// of other managers. Owner is one.
type FieldOwner interface {
	OwnFields(live *unstructured.Unstructured) *fieldpath.Set
	ForeignFields(live *unstructured.Unstructured) *fieldpath.Set
}

// WithoutSet returns the stream as a run without a set sends it.
func (s Stream) WithoutSet() Stream {
	s.Set = ""
	return s
}

// Defines reports whether a CustomResourceDefinition of the stream defines a kind.
func (s Stream) Defines(kind schema.GroupVersionKind) bool { return s.defined[kind] }

// Body returns the body of the PATCH that creates a manifest's object. The error is the
// fingerprint's: a value that JSON cannot hold.
func (s Stream) Body(manifest *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	return s.BodyFor(manifest, nil, nil)
}

// BodyFor returns the body of a manifest's PATCH to a live object, nil if there is none.
// Fields that the manifest leaves to others (ordapply.dev/ignore-fields) or that controllers
// fill in are left out while managers other than owner own them. The fingerprint does not
// depend on the live object.
func (s Stream) BodyFor(manifest, live *unstructured.Unstructured, owner FieldOwner) (*unstructured.Unstructured, error) {
	out := s.WithoutFingerprint(manifest)
	if err := setFingerprint(out); err != nil || live == nil {
		return out, err
	}
	dropKnownRefusedNulls(out, live)
	if paths := s.LeftPaths(manifest); len(paths) > 0 {
		fields.Leave(paths, out.Object, owner.ForeignFields(live))
	}
	if s.isAutoscaled(manifest) {
		keepReplicas(out, live, owner)
	}
	return out, nil
}

// DependsOnLive reports whether the body of a manifest's PATCH depends on the live object.
func (s Stream) DependsOnLive(manifest *unstructured.Unstructured) bool {
	return s.isAutoscaled(manifest) || len(s.LeftPaths(manifest)) > 0
}

// LeftPaths returns the paths of a manifest's fields that are not sent while other
// managers own them: ignored fields, and fields that controllers fill in.
func (s Stream) LeftPaths(manifest *unstructured.Unstructured) []fields.Path {
	return append(fields.Of(manifest.Object), s.filledFields(manifest)...)
}

// WithoutFingerprint returns the body of the PATCH that creates a manifest's object, without
// its fingerprint.
func (s Stream) WithoutFingerprint(manifest *unstructured.Unstructured) *unstructured.Unstructured {
	out := manifest.DeepCopy()
	s.dropStatus(out)
	dropServerFields(out)
	dropAnnotations(out)
	foldStringData(out)
	if s.Set != "" {
		setIn(out, "labels", applyset.PartOfLabel, s.Set)
	}
	return out
}

// setFingerprint adds the fingerprint to an object that is created. Ignored fields do not
// enter it.
func setFingerprint(body *unstructured.Unstructured) error {
	printed := body
	if paths := fields.Of(body.Object); len(paths) > 0 {
		printed = body.DeepCopy()
		fields.Remove(paths, printed.Object)
	}
	print, err := applyset.Fingerprint(printed)
	if err != nil {
		return err
	}
	setIn(body, "annotations", applyset.AppliedAnnotation, print)
	return nil
}

// setIn sets an entry of an object's labels or annotations. Entries that are not strings
// stay for the API server to judge.
func setIn(obj *unstructured.Unstructured, field, key, value string) {
	metadata, _ := obj.Object["metadata"].(map[string]any)
	if metadata == nil {
		return
	}
	entries, isMap := metadata[field].(map[string]any)
	if !isMap && metadata[field] != nil {
		return
	}
	if entries == nil {
		entries = map[string]any{}
	}
	entries[key] = value
	metadata[field] = entries
}
