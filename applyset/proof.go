package applyset

import (
	"encoding/json"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/object"
)

// Proof is what is known about a PATCH before it is sent.
type Proof int

// The proofs, in ascending order of certainty.
const (
	Differs Proof = iota // the PATCH may change the live object
	Unseen               // the metadata shows no change, but only the body of the live object proves it
	Same                 // the PATCH changes nothing
)

// Unchanged reports whether a server-side apply of desired by manager is proven
// to change nothing about a live object.
func Unchanged(desired, live *unstructured.Unstructured, manager string) bool {
	return Prove(desired, live, manager) == Same
}

// Prove compares a live object with desired, which carries its fingerprint, as a
// server-side apply by manager would. Two things together are the proof: this
// very object is what manager applied last, and manager still owns every field of
// it and no other.
//
// A managedFields entry is a proof about a field's value only where it names the
// field and the kind's schema declares it. It says nothing about the order of
// list items, and in a custom resource `f:image: {}` is either a value that is
// owned as a whole or a map entry of which another manager took every field. So
// the order of list items is compared with the live object, and so are all values
// of custom resources, and those of a Secret to which another manager applied
// stringData. Values of Kubernetes' own kinds are not compared: the API
// server stores some of them in another form (1000m as 1).
//
// live may be a PartialObjectMetadata; then the answer is Unseen where the body
// is needed.
func Prove(desired, live *unstructured.Unstructured, manager string) Proof {
	print := desired.GetAnnotations()[AppliedAnnotation]
	if print == "" || live.GetAnnotations()[AppliedAnnotation] != print || live.GetDeletionTimestamp() != nil {
		return Differs
	}
	root, mine := rootOf(desired, live, manager)
	if !mine {
		return Differs
	}
	return root.proveObject(desired.Object, hasBody(live))
}

// rootOf reads whose the fields of a live object are; false when manager did not
// apply it in this version, or that cannot be read.
func rootOf(desired, live *unstructured.Unstructured, manager string) (place, bool) {
	root := place{live: live.Object, seen: true, declared: object.OfKubernetes(desired.GroupVersionKind().Group)}
	mine := false
	for _, entry := range live.GetManagedFields() {
		if entry.FieldsV1 == nil {
			continue
		}
		var fields map[string]any
		if err := json.Unmarshal(entry.FieldsV1.GetRawBytes(), &fields); err != nil {
			return place{}, false
		}
		if entry.Manager != manager || entry.Operation != metav1.ManagedFieldsOperationApply || entry.Subresource != "" {
			root.others = append(root.others, fields)
			continue
		}
		if entry.APIVersion != desired.GetAPIVersion() {
			return place{}, false
		}
		root.ours, mine = fields, true
	}
	return root, mine
}

// hasBody reports whether more than metadata was read of a live object.
func hasBody(live *unstructured.Unstructured) bool {
	for key := range live.Object {
		if key != "apiVersion" && key != "kind" && key != "metadata" {
			return true
		}
	}
	return false
}

// proveObject leaves out what identifies the object, which no manager owns.
func (p place) proveObject(object map[string]any, body bool) Proof {
	rest := make(map[string]any, len(object))
	for key, value := range object {
		if key != "apiVersion" && key != "kind" && key != "metadata" {
			rest[key] = value
		}
	}
	rest["metadata"] = ownMetadata(object["metadata"])
	writtenAsText := p.hasStringData()
	return p.proveFields(rest, func(key string, below place) place {
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

// hasStringData reports whether another manager applied a Secret's stringData. The
// API server copies its values to data and leaves the owners of data as they are.
func (p place) hasStringData() bool {
	return p.declared && slices.ContainsFunc(p.others, func(set map[string]any) bool { return set["f:stringData"] != nil })
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
