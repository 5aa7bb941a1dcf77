package applyset

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/object"
)

// AppliedAnnotation holds the fingerprint of the manifest that was applied, and after it,
// separated by spaces, the paths of the nulls that the API server refused and that were left
// out. It is part of the same PATCH, so that it always agrees with the object.
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
	if _, has := object.Annotation(desired.Object, AppliedAnnotation); !has {
		return desired
	}
	out := desired.DeepCopy()
	unstructured.RemoveNestedField(out.Object, "metadata", "annotations", AppliedAnnotation)
	if len(out.GetAnnotations()) == 0 {
		unstructured.RemoveNestedField(out.Object, "metadata", "annotations") // as in an object without annotations
	}
	return out
}
