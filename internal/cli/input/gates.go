package input

import (
	"errors"
	"fmt"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// Gates sets the gates of the plan from the annotations of resources. ungated
// reports whether the run does not wait for a resource after its PATCH.
func Gates(plan *ordering.Plan, stream *apply.Stream, wait bool) (ungated func(object.ID) bool, err error) {
	own := map[object.ID]bool{} // whether the run waits, for resources with the annotation
	var errs []error
	for i := range plan.Steps {
		s := &plan.Steps[i]
		switch value, given := stream.Objects[s.ID].GetAnnotations()[ordering.WaitAnnotation]; {
		case !given:
		case value == "ready":
			own[s.ID], s.Gate, s.ReadyBy = true, ordering.Ready, s.Due
		case value == "none" || value == "applied":
			own[s.ID], s.Gate = false, ordering.Applied
		default:
			errs = append(errs, fmt.Errorf("%s: annotation %s: %q: write none, applied or ready%s", s.ID, ordering.WaitAnnotation, value, at(s.Source)))
		}
	}
	ungated = func(id object.ID) bool {
		if held, given := own[id]; given {
			return !held
		}
		return !wait
	}
	return ungated, errors.Join(errs...)
}

// at returns the source of a manifest as the end of a message.
func at(source string) string {
	if source == "" {
		return ""
	}
	return " (" + source + ")"
}
