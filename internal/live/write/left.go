package write

import (
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ordapply/ordapply/internal/fields"
)

// LeftToOthers returns a function that reports whether a manifest leaves a field of its
// object to other managers: fields that controllers fill in, fields in
// ordapply.dev/ignore-fields, and kapp's labels in Pod templates. Such a field of another tool
// stays with its manager when a run takes over the tool's fields.
func (s Stream) LeftToOthers(manifest *unstructured.Unstructured) func(fieldpath.Path) bool {
	paths := sync.OnceValue(func() []fields.Path { return s.LeftPaths(manifest) }) // few ask
	return func(path fieldpath.Path) bool {
		return KappLabelsInPodTemplate(path) || fields.Covers(paths(), path) || s.isAutoscaled(manifest) && len(path) == 2 && fields.StartsWith(path, "spec", "replicas")
	}
}
