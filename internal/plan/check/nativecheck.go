package check

import (
	"errors"

	"github.com/ordapply/ordapply/internal/plan/mutation"
	"github.com/ordapply/ordapply/internal/plan/references"
	"github.com/ordapply/ordapply/object"
)

// Native joins an error for each value that is not base64 and should be, and for each list
// with two items of one key. It is nil for kinds of other API groups. The errors quote no
// values of a Secret. A manifest that takes values of other objects is not checked: it has
// placeholders for them.
func Native(id object.ID, obj map[string]any) error {
	if !object.IsNative(id.Group) || hasPlaceholders(obj) {
		return nil
	}
	return errors.Join(append(base64Errors(id, obj), duplicateItems(id, obj)...)...)
}

func hasPlaceholders(obj map[string]any) bool {
	annotations, _ := references.Field(obj, "metadata", "annotations").(map[string]any)
	return annotations[mutation.Annotation] != nil
}
