package preflight

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/object"
)

// The annotations with the readiness timeout of one resource, a Go duration.
// It starts when the resource's dependencies in the stream are met, and
// includes the wait for its kind and for objects outside the stream.
const (
	timeoutAnnotation     = "ordapply.dev/timeout"
	helmTimeoutAnnotation = "helm.sh/readiness-timeout" // Helm's HIP-0025
)

// OwnTimeout returns the value of such an annotation; 0 when there is none.
func OwnTimeout(obj *unstructured.Unstructured) (time.Duration, error) {
	for _, key := range []string{timeoutAnnotation, helmTimeoutAnnotation} {
		text, ok := object.Annotation(obj.Object, key)
		if !ok {
			continue
		}
		d, err := time.ParseDuration(text)
		if err != nil || d <= 0 {
			return 0, fmt.Errorf("annotation %s: %q is not a duration such as 90s", key, text)
		}
		return d, nil
	}
	return 0, nil
}
