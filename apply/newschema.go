package apply

import (
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/ordapply/ordapply/internal/kubeerr"
	"github.com/ordapply/ordapply/object"
)

// schemaPropagation is how long API servers may use the old schema after a
// CustomResourceDefinition changed: each learns of the change by its own
// watch.
const schemaPropagation = 10 * time.Second

// mayUseOldSchema reports whether a PATCH may have been rejected only because
// the API server still used the old schema of the kind: this run changed its
// CustomResourceDefinition. A new definition has no older schema.
func (r *run) mayUseOldSchema(i int, err error) bool {
	return !r.applier.DryRun && refusedBySchema(err) && slices.ContainsFunc(r.steps[i].ProvidedBy, func(maker object.ID) bool {
		at, ok := r.byID[maker]
		return ok && r.steps[at].specChanged
	})
}

// refusedBySchema reports whether an error says that an object does not match
// the schema of its kind.
func refusedBySchema(err error) bool {
	return kubeerr.IsUnknownField(err) || kubeerr.IsUnfitValue(err) || apierrors.IsInvalid(err) && !kubeerr.IsBeingDeleted(err) ||
		apierrors.IsBadRequest(err) && strings.Contains(err.Error(), "strict decoding error")
}
