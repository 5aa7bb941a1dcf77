package references

import (
	"github.com/ordapply/ordapply/internal/nearest"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// Nearest returns the resource that a reference most likely means: one of the
// same kind with a similar name, or one with the same name. It never returns
// the referring resource.
func (ix *Index) Nearest(written, refers object.ID) (object.ID, bool) {
	best, ok := nearest.Best(ix.Resources, func(r ordering.Resource) (int, bool) {
		distance, close := nearest.IDDistance(written, r.ID)
		return distance, close && r.ID != refers
	})
	return best.ID, ok
}
