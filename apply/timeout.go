package apply

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// The annotations that say how long one resource may take to become ready, a Go
// duration, counted from when all that it needs of the stream is there: the wait
// for what is outside the stream, and for its kind, is part of it.
const (
	timeoutAnnotation     = "ordapply.dev/timeout"
	helmTimeoutAnnotation = "helm.sh/readiness-timeout" // Helm's HIP-0025
)

// ownTimeout is what such an annotation says; 0 when there is none.
func ownTimeout(obj *unstructured.Unstructured) (time.Duration, error) {
	for _, key := range []string{timeoutAnnotation, helmTimeoutAnnotation} {
		text, ok := obj.GetAnnotations()[key]
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
