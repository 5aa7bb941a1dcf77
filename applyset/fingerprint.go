package applyset

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// AppliedAnnotation holds the fingerprint of what was applied. It travels in
// the PATCH that applies it, so that the two are never apart.
const AppliedAnnotation = "ordapply.dev/applied"

// Fingerprint is that of an object as it is sent, without the annotation that
// holds it. Its prefix is the version of the way it is made.
func Fingerprint(desired *unstructured.Unstructured) (string, error) {
	text, err := json.Marshal(unmarked(desired).Object)
	if err != nil {
		return "", fmt.Errorf("fingerprint: %w", err)
	}
	sum := sha256.Sum256(text)
	return "v1:" + base64.RawURLEncoding.EncodeToString(sum[:18]), nil
}

// unmarked is the object without a fingerprint; a copy when it has one.
func unmarked(desired *unstructured.Unstructured) *unstructured.Unstructured {
	annotations := desired.GetAnnotations()
	if _, has := annotations[AppliedAnnotation]; !has {
		return desired
	}
	out := desired.DeepCopy()
	delete(annotations, AppliedAnnotation)
	if len(annotations) == 0 {
		annotations = nil // as an object that never had one
	}
	out.SetAnnotations(annotations)
	return out
}

// Unchanged tells whether a PATCH of desired, which carries its fingerprint,
// would surely change nothing about a live object: what manager applied last is
// this very object, and it still owns every field. Whoever else writes a field
// takes it from us; what others do to fields that are not ours is no change. In
// doubt the answer is no. Only metadata is looked at in live, so it may be a
// PartialObjectMetadata.
func Unchanged(desired, live *unstructured.Unstructured, manager string) bool {
	print := desired.GetAnnotations()[AppliedAnnotation]
	if print == "" || live.GetAnnotations()[AppliedAnnotation] != print || live.GetDeletionTimestamp() != nil {
		return false
	}
	var o owned
	mine := false
	for _, entry := range live.GetManagedFields() {
		if entry.FieldsV1 == nil {
			continue
		}
		var fields map[string]any
		if err := json.Unmarshal(entry.FieldsV1.GetRawBytes(), &fields); err != nil {
			return false
		}
		if entry.Manager != manager || entry.Operation != metav1.ManagedFieldsOperationApply || entry.Subresource != "" {
			o.others = append(o.others, fields)
			continue
		}
		if entry.APIVersion != desired.GetAPIVersion() {
			return false
		}
		o.ours, mine = fields, true
	}
	return mine && o.coversObject(desired.Object)
}
