package apply

import (
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/ordapply/ordapply/object"
)

// newSchemaWithin is how long API servers may go on with the schema that a
// CustomResourceDefinition had before it was changed: each learns of the change by
// a watch of its own.
const newSchemaWithin = 10 * time.Second

// meetsOldSchema reports whether a PATCH may have been refused only because the API
// server did not use the new schema of its kind yet: what makes the kind was
// changed by this run. A new one has no older schema.
func (r *run) meetsOldSchema(i int, err error) bool {
	return !r.a.DryRun && refusedBySchema(err) && slices.ContainsFunc(r.steps[i].MadeBy, func(maker object.ID) bool {
		at, ok := r.byID[maker]
		return ok && r.steps[at].specChanged
	})
}

// refusedBySchema recognises the answers about an object that does not fit the
// schema of its kind.
func refusedBySchema(err error) bool {
	return unknownField(err) || unfitValue(err) || apierrors.IsInvalid(err) && !beingDeleted(err) ||
		apierrors.IsBadRequest(err) && strings.Contains(err.Error(), "strict decoding error")
}
