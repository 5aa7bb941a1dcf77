package main

import (
	"errors"
	"fmt"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// waitAnnotation tells how long a resource holds up what comes after it: "none"
// or "applied": until it is applied; "ready": until it is ready, whatever its
// layer's gate and --wait say.
const waitAnnotation = "ordapply.dev/wait"

// gates writes into the plan what resources themselves say of their gate, and
// tells which are not waited for beyond their PATCH.
func gates(plan *ordering.Plan, stream *apply.Stream, wait bool) (ungated func(object.ID) bool, err error) {
	held := map[object.ID]bool{}
	var errs []error
	for i := range plan.Steps {
		s := &plan.Steps[i]
		switch value, given := stream.Objects[s.ID].GetAnnotations()[waitAnnotation]; {
		case !given:
			held[s.ID] = wait
		case value == "ready":
			held[s.ID], s.Gate = true, ordering.Ready
		case value == "none" || value == "applied":
			s.Gate = ordering.Applied
		default:
			errs = append(errs, fmt.Errorf("%s: annotation %s: %q: write none, applied or ready%s", s.ID, waitAnnotation, value, at(s.Source)))
		}
	}
	return func(id object.ID) bool { return !held[id] }, errors.Join(errs...)
}

// at is where a manifest stood, as the end of a message.
func at(source string) string {
	if source == "" {
		return ""
	}
	return " (" + source + ")"
}
