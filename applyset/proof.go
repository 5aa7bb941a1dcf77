package applyset

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ordapply/ordapply/internal/fields"
	"github.com/ordapply/ordapply/object"
)

// Proof is the known effect of a PATCH before it is sent.
type Proof int

// Values of Proof, in ascending order of certainty.
const (
	Differs   Proof = iota // the PATCH may change the live object
	NeedsBody              // the metadata shows no change, but only the body of the live object proves it
	Same                   // the PATCH changes nothing
)

// Prove compares a live object with desired, which includes its fingerprint, as
// a server-side apply by manager would. Same requires both that manager applied
// this very object last, and that it still owns every field of it and no other.
//
// A managedFields entry proves a field's value only if it names the field and
// the kind's schema declares it. It proves nothing about the order of list
// items, and in a custom resource `f:image: {}` is either a value that is owned
// as a whole or a map entry whose fields another manager took. Therefore the
// order of list items is compared with the live object, and so are all values of
// custom resources, of a Secret to which another manager applied stringData, and
// of fields that the manifest ignores: the fingerprint does not cover these.
// Other values of native kinds are not compared: the API server normalizes some
// of them (1000m to 1).
//
// live may be a PartialObjectMetadata; the result is NeedsBody if the body is
// needed. Neither object is changed.
func Prove(desired, live *unstructured.Unstructured, manager string) Proof {
	return NewProver().Prove(desired, live, manager)
}

// Prover proves as Prove does, for many objects: it remembers field sets that they have in common.
// It is for one goroutine.
type Prover struct{ sets fieldSets }

// NewProver returns a Prover that remembers nothing yet.
func NewProver() Prover { return Prover{newFieldSets()} }

// Prove is the function Prove.
func (p Prover) Prove(desired, live *unstructured.Unstructured, manager string) Proof {
	print, _ := object.Annotation(desired.Object, AppliedAnnotation)
	if stored, _ := object.Annotation(live.Object, AppliedAnnotation); print == "" || stored != print || live.GetDeletionTimestamp() != nil {
		return Differs
	}
	root, mine := p.rootOf(desired, live, manager)
	if !mine {
		return Differs
	}
	return root.proveObject(desired.Object, hasBody(live))
}

// rootOf reads the owners of a live object's fields; false if manager did not
// apply it in this version, or the managedFields cannot be parsed.
func (p Prover) rootOf(desired, live *unstructured.Unstructured, manager string) (ownedValue, bool) {
	root := ownedValue{live: live.Object, seen: true, declared: object.IsNative(desired.GroupVersionKind().Group), ignored: fields.Of(desired.Object)}
	mine := false
	for w := range Writers(live) {
		if w.Fields == nil {
			continue
		}
		set, err := p.sets.of(w)
		switch {
		case err != nil:
			return ownedValue{}, false
		case w.Manager != manager || w.Operation != metav1.ManagedFieldsOperationApply || w.Subresource != "":
			root.others = append(root.others, set)
		case w.APIVersion != desired.GetAPIVersion():
			return ownedValue{}, false
		default:
			root.ours, mine = set, true
		}
	}
	return root, mine
}

// hasBody reports whether a live object has more than metadata.
func hasBody(live *unstructured.Unstructured) bool {
	for key := range live.Object {
		if key != "apiVersion" && key != "kind" && key != "metadata" {
			return true
		}
	}
	return false
}

// proveObject compares an object without its identity, which has no owner.
func (p ownedValue) proveObject(object map[string]any, body bool) Proof {
	rest := make(map[string]any, len(object))
	for key, value := range object {
		if key != "apiVersion" && key != "kind" && key != "metadata" {
			rest[key] = value
		}
	}
	rest["metadata"] = ownMetadata(object["metadata"])
	writtenAsText := p.hasStringData()
	return p.proveFields(rest, func(key string, below ownedValue) ownedValue {
		if key == "metadata" {
			below.declared = true // every kind has the same metadata
			return below
		}
		below.seen = body
		if key == "data" && writtenAsText {
			below.declared = false
		}
		return below
	})
}

// hasStringData reports whether another manager applied a Secret's stringData.
// The API server copies its values to data and does not change the owners of
// data.
func (p ownedValue) hasStringData() bool {
	stringData := "stringData"
	return p.declared && slices.ContainsFunc(p.others, func(set *fieldpath.Set) bool {
		_, has := below(set, fieldpath.PathElement{FieldName: &stringData})
		return has
	})
}

func ownMetadata(metadata any) map[string]any {
	fields, _ := metadata.(map[string]any)
	own := make(map[string]any, len(fields))
	for key, value := range fields {
		if key != "name" && key != "namespace" {
			own[key] = value
		}
	}
	return own
}
