package applyset

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"

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
