package preflight

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/internal/kube/openapi"
	"github.com/ordapply/ordapply/internal/plan/mutation"
	"github.com/ordapply/ordapply/internal/plan/references"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// FieldErrors returns a function that returns the error of a step whose manifest has fields or
// types of values that the API server refuses, as its schemas say. A step that would send
// nothing, or whose values are still to be filled in, has none. Neither has a custom resource
// whose definition the run may change before: in the stream, or by a program that it starts.
func (c Checks) FieldErrors(ctx context.Context) func(i int) error {
	bodies := map[int]*unstructured.Unstructured{}
	if c.Schemas != nil {
		bodies = c.checkedBodies()
	}
	if len(bodies) == 0 {
		return func(int) error { return nil }
	}
	kinds := map[schema.GroupVersionKind]bool{}
	for _, body := range bodies {
		kinds[body.GroupVersionKind()] = true
	}
	types := openapi.Read(ctx, c.Schemas, kinds)
	return func(i int) error {
		if bodies[i] == nil {
			return nil
		}
		problems := types.Check(bodies[i])
		if len(problems) == 0 {
			return nil
		}
		return event.WithCode(event.CodeInvalid, fmt.Errorf("the manifest does not match the schema of its kind: %s", strings.Join(problems, "; ")))
	}
}

// checkedBodies returns what the run would send of each step that is checked.
func (c Checks) checkedBodies() map[int]*unstructured.Unstructured {
	bodies, positions := map[int]*unstructured.Unstructured{}, c.Plan.Positions()
	changes := func(i int) bool { return !c.Reader.IsUnchanged(i, c.Reads[i]) }
	programs := slices.ContainsFunc(c.Plan.Hooks, ordering.PlannedHook.Before)
	for i, s := range c.Plan.Steps {
		manifest := c.manifest(i)
		if !changes(i) {
			continue
		}
		programs = programs || references.PodSpec(manifest.Object) != nil
		isProvided := slices.ContainsFunc(s.ProvidedBy, func(id object.ID) bool {
			at, inPlan := positions[id]
			return inPlan && changes(at)
		})
		custom := !object.IsNative(manifest.GroupVersionKind().Group)
		if custom && (programs || isProvided) || mutation.Has(manifest.GetAnnotations()) {
			continue
		}
		if body, err := c.Reader.Bodies.BodyFor(manifest, c.Reads[i].Live, c.Reader.Owner); err == nil {
			bodies[i] = body
		}
	}
	return bodies
}
