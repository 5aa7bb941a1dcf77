package write

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/ordapply/ordapply/internal/fields"
)

// LeftToOthers returns a function that reports whether a manifest leaves a field of its
// object to other managers: fields that controllers fill in, those that
// ordapply.dev/ignore-fields names, and kapp's labels in Pod templates. A field of them that another tool wrote stays with its
// manager when a run takes over what that tool wrote.
func (s Stream) LeftToOthers(manifest *unstructured.Unstructured) func(fieldpath.Path) bool {
	paths, scaled := s.LeftPaths(manifest), s.isAutoscaled(manifest)
	return func(path fieldpath.Path) bool {
		return KappLabelsInPodTemplate(path) || fields.Covers(paths, path) || scaled && len(path) == 2 && fields.StartsWith(path, "spec", "replicas")
	}
}
