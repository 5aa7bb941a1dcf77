package preflight

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	client "k8s.io/client-go/openapi"

	"github.com/ordapply/ordapply/apply/event"
	"github.com/ordapply/ordapply/applyset"
	"github.com/ordapply/ordapply/internal/kube/fault"
	"github.com/ordapply/ordapply/internal/kube/openapi"
	"github.com/ordapply/ordapply/internal/live/write"
	"github.com/ordapply/ordapply/internal/plan/mutation"
	"github.com/ordapply/ordapply/internal/plan/references"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/ordering"
)

// FieldErrors returns a function that returns the error of a step whose manifest has fields or
// types of values that the API server refuses, as its schemas say. A step that would send
// nothing, or whose values are still to be filled in, has none. Neither has a custom resource
// whose definition the run may change before: in the stream, or, where the stream does not have
// it, by a program that it starts. The error of another custom resource counts only if a dry run of its apply confirms it.
func (c Checks) FieldErrors(ctx context.Context) func(i int) error {
	if c.Schemas == nil {
		return func(int) error { return nil }
	}
	return c.fieldErrors(ctx, c.checked())
}

// fieldErrors is FieldErrors for the checked steps.
func (c Checks) fieldErrors(ctx context.Context, checked []bool) func(i int) error {
	kinds := map[schema.GroupVersionKind]bool{}
	for i := range checked {
		if checked[i] {
			kinds[c.manifest(i).GroupVersionKind()] = true
		}
	}
	if len(kinds) == 0 || c.Schemas == nil {
		return func(int) error { return nil }
	}
	types := openapi.Read(ctx, c.Schemas, kinds)
	return func(i int) error {
		if !checked[i] || types.Check(c.manifest(i)) == nil { // which has all fields that are sent
			return nil
		}
		body, err := c.Reader.Bodies.BodyFor(c.manifest(i), c.Reads[i].Live, c.Reader.Owner)
		if err != nil {
			return nil // it is reported when the body is sent
		}
		if err = types.Check(body); err == nil || isCustom(body) && !c.refuses(ctx, body) {
			return nil
		}
		return event.WithCode(event.CodeInvalid, err)
	}
}

// HookFieldErrors returns a function that returns the error of a hook whose manifest, one of
// manifests, has fields or types of values that the API server refuses. Custom resources are checked
// when their turn comes: what runs before may change their definition.
func HookFieldErrors(ctx context.Context, schemas client.Client, kinds kube.Kinds, manifests []*unstructured.Unstructured) func(*unstructured.Unstructured) error {
	wanted := map[schema.GroupVersionKind]bool{}
	for _, manifest := range manifests {
		if !isCustom(manifest) && !mutation.In(manifest.Object) {
			wanted[manifest.GroupVersionKind()] = true
		}
	}
	if schemas == nil || len(wanted) == 0 {
		return func(*unstructured.Unstructured) error { return nil }
	}
	types, bodies := openapi.Read(ctx, schemas, wanted), write.Stream{Kinds: kinds}
	return func(manifest *unstructured.Unstructured) error {
		if !wanted[manifest.GroupVersionKind()] || mutation.In(manifest.Object) {
			return nil
		}
		body, err := bodies.BodyFor(manifest, nil, write.Owner{})
		if err != nil {
			return nil // it is reported when the body is sent
		}
		if err = types.Check(body); err == nil {
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

// checked reports for each step whether its manifest is checked: it is sent as it is now, to a
// kind that the run does not change before.
func (c Checks) checked() []bool {
	positions, sent := c.Plan.Positions(), c.sent()
	programs := c.firstPrograms(sent)
	out := make([]bool, len(sent))
	for i, s := range c.Plan.Steps {
		mayChange := s.Wave >= programs // a program may bring its kinds itself
		for _, id := range s.ProvidedBy {
			at, inPlan := positions[id]
			if inPlan && sent[at] {
				mayChange = true
				break
			}
			if inPlan && id.Kind == "CustomResourceDefinition" {
				mayChange = false // the stream brings it, and leaves it as it is
			}
		}
		isFixed := !mayChange || !isCustom(c.manifest(i))
		out[i] = sent[i] && isFixed && !mutation.In(c.manifest(i).Object)
	}
	return out
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
