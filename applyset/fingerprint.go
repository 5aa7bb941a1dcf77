package applyset

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// AppliedAnnotation holds the fingerprint of the object that was applied. It is
// part of the same PATCH, so both always agree.
const AppliedAnnotation = "ordapply.dev/applied"

// Fingerprint returns the fingerprint of an object as it is sent, without
// AppliedAnnotation: "v1:" and 24 characters of SHA-256 in base64, where v1 is
// the version of the algorithm. An object that cannot be JSON is an error.
func Fingerprint(desired *unstructured.Unstructured) (string, error) {
	text, err := json.Marshal(withoutFingerprint(desired).Object)
	if err != nil {
		return "", fmt.Errorf("fingerprint: %w", err)
	}
	sum := sha256.Sum256(text)
	return "v1:" + base64.RawURLEncoding.EncodeToString(sum[:18]), nil
}

// withoutFingerprint returns the object without its fingerprint; a copy if it has one.
func withoutFingerprint(desired *unstructured.Unstructured) *unstructured.Unstructured {
	annotations := desired.GetAnnotations()
	if _, has := annotations[AppliedAnnotation]; !has {
		return desired
	}
	out := desired.DeepCopy()
	delete(annotations, AppliedAnnotation)
	if len(annotations) == 0 {
		annotations = nil // as in an object without annotations
	}
	out.SetAnnotations(annotations)
	return out
}
