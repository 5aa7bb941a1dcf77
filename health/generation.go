package health

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/internal/statusreader"
)

// isStaleStatus reports whether the controller has not observed the current spec.
func isStaleStatus(obj *unstructured.Unstructured) (Assessment, bool) {
	seen, ok := statusreader.ObservedGeneration(obj)
	if !ok || seen >= obj.GetGeneration() {
		return Assessment{}, false
	}
	if seen < 1 { // some start with -1
		return Assessment{Verdict: Progressing, Rule: "observedGeneration", Reason: "its controller has not observed it yet"}, true
	}
	return Assessment{
		Verdict: Progressing, Rule: "observedGeneration",
		Reason: fmt.Sprintf("its controller has observed generation %d, and the generation is %d", seen, obj.GetGeneration()),
	}, true
}
