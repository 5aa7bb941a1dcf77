package preflight

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/internal/kube/fault"
	"github.com/ordapply/ordapply/internal/kube/openapi"
	"github.com/ordapply/ordapply/internal/plan/mutation"
	"github.com/ordapply/ordapply/internal/plan/references"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// FieldErrors returns a function that returns the error of a step whose manifest has fields or
// types of values that the API server refuses, as its schemas say. A step that would send
// nothing, or whose values are still to be filled in, has none. Neither has a custom resource
// whose definition the run may change before: in the stream, or by a program that it starts. The
// error of another custom resource counts only if a dry run of its apply confirms it.
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
		err := types.Check(bodies[i])
		if err == nil || isCustom(bodies[i]) && !c.refuses(ctx, bodies[i]) {
			return nil
		}
		return event.WithCode(event.CodeInvalid, err)
	}
}

func isCustom(obj *unstructured.Unstructured) bool {
	return !object.IsNative(obj.GroupVersionKind().Group)
}

// refuses reports whether the API server refuses fields of an object in a dry run. The schema of
// a custom resource may be published later than it is in force.
func (c Checks) refuses(ctx context.Context, obj *unstructured.Unstructured) bool {
	kind, served := kube.KindsOf(c.Cluster)(obj.GroupVersionKind())
	if !served {
		return false
	}
	_, err := c.Cluster.Apply(ctx, kind, obj, kube.PatchOptions{Manager: c.Reader.Owner.Manager, Force: true})
	return err != nil && fault.IsSchemaError(err)
}

// checkedBodies returns the body that the run would send for each step that is checked.
func (c Checks) checkedBodies() map[int]*unstructured.Unstructured {
	bodies, positions, sent := map[int]*unstructured.Unstructured{}, c.Plan.Positions(), c.sent()
	programs := c.firstPrograms(sent)
	for i, s := range c.Plan.Steps {
		manifest := c.manifest(i)
		if !sent[i] || mutation.Has(manifest.GetAnnotations()) {
			continue
		}
		isProvided := slices.ContainsFunc(s.ProvidedBy, func(id object.ID) bool {
			at, inPlan := positions[id]
			return inPlan && sent[at]
		})
		if isCustom(manifest) && (isProvided || s.Wave >= programs) {
			continue
		}
		if body, err := c.Reader.Bodies.BodyFor(manifest, c.Reads[i].Live, c.Reader.Owner); err == nil {
			bodies[i] = body
		}
	}
	return bodies
}

// firstPrograms returns the first wave in which the run starts programs: Pods that it changes,
// or hooks before the waves. Without programs it is the number of waves.
func (c Checks) firstPrograms(sent []bool) int {
	if slices.ContainsFunc(c.Plan.Hooks, ordering.PlannedHook.Before) {
		return 0
	}
	first := len(c.Plan.Waves)
	for i, s := range c.Plan.Steps {
		if sent[i] && s.Wave < first && references.PodSpec(c.manifest(i).Object) != nil {
			first = s.Wave
		}
	}
	return first
}

// sent reports for each step whether the run would send it.
func (c Checks) sent() []bool {
	out := make([]bool, len(c.Plan.Steps))
	for i, read := range c.Reads {
		policy, _ := c.Reader.Policy(i, read.Live)
		mayWrite := policy == applyset.Apply || policy == applyset.CreateOnly && read.Live == nil
		out[i] = mayWrite && !c.Reader.IsUnchanged(i, read)
	}
	return out
}
