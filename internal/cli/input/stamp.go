package input

import (
	"context"
	"fmt"
	"maps"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/fn"
	"github.com/ordapply/ordapply/internal/cli/console"
	internalfields "github.com/ordapply/ordapply/internal/fields"
	"github.com/ordapply/ordapply/internal/plan/stamp"
	"github.com/ordapply/ordapply/kube"
	"github.com/ordapply/ordapply/object"
)

// stamp writes the file of --order into the annotations of the objects: the stamps of a
// SortOrder, as the function does during a build, and the fields that are left to other
// managers.
func (s *Source) stamp(ctx context.Context, c *console.Console, inputs []apply.Input) error {
	read, err := ReadOrder(ctx, c, s.Order)
	if err != nil {
		return err
	}
	for _, in := range inputs {
		if fields := read.IgnoreFields(in.Object); fields != "" {
			annotate(in, nil, map[string]string{internalfields.Annotation: fields})
		}
	}
	if read.Order == nil {
		return nil
	}
	metas := make([]object.Meta, len(inputs))
	for i, in := range inputs {
		metas[i] = kube.Meta(in.Object)
	}
	objects := func(i int) map[string]any { return inputs[i].Object.Object }
	decision := fn.Planner{Order: read.Order, Objects: objects}.Plan(metas)
	if remarks := decision.Findings.Remarks(); s.Findings == nil {
		fmt.Fprint(c.Err, remarks.Lines())
	} else {
		*s.Findings = remarks
	}
	if decision.Findings.Failed() {
		return decision.Findings.Err()
	}
	for i, change := range decision.Changes {
		annotate(inputs[i], change.Remove, change.Set)
	}
	return nil
}

// annotate changes the annotations of an object.
func annotate(in apply.Input, remove []string, set map[string]string) {
	annotations := in.Object.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	for _, key := range remove {
		delete(annotations, key)
	}
	maps.Copy(annotations, set)
	in.Object.SetAnnotations(annotations)
}

func isStamped(in apply.Input) bool {
	_, ok := in.Object.GetAnnotations()[stamp.LayerAnnotation]
	return ok
}
