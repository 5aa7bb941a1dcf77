package status

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/state/history"
)

// isFinished reports whether a resource that does not exist is a Job which Kubernetes deletes
// when it has finished. It was ready when the revision was deployed.
func isFinished(r *history.Revision, id object.ID) bool {
	if r.Status != history.Deployed || id.GroupKind() != "Job.batch" {
		return false
	}
	manifest := r.Objects()[id]
	if manifest == nil {
		return false
	}
	ttl, found, _ := unstructured.NestedFieldNoCopy(manifest.Object, "spec", "ttlSecondsAfterFinished")
	return found && ttl != nil
}
