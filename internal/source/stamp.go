package source

import (
	"context"
	"fmt"
	"io"

	"github.com/ordapply/ordapply/apply"
	"github.com/ordapply/ordapply/fn"
	"github.com/ordapply/ordapply/internal/orderfile"
	"github.com/ordapply/ordapply/internal/stamp"
	"github.com/ordapply/ordapply/object"
)

// stamp writes the stamps of a SortOrder on every object, as the function does
// during a build.
func (f *InputFlags) stamp(ctx context.Context, inputs []apply.Input, stderr io.Writer) error {
	read, err := orderfile.Read(ctx, f.Order)
	if err != nil || read.Order == nil {
		return err
	}
	metas := make([]object.Meta, len(inputs))
	for i, in := range inputs {
		metas[i] = apply.Meta(in.Object)
	}
	objects := func(i int) map[string]any { return inputs[i].Object.Object }
	decision := fn.Planner{Order: read.Order, Objects: objects}.Plan(metas)
	if remarks := decision.Findings.Remarks(); f.Findings == nil {
		fmt.Fprint(stderr, remarks.Lines())
	} else {
		*f.Findings = remarks
	}
	if decision.Findings.Failed() {
		return decision.Findings.Err()
	}
	for i, change := range decision.Changes {
		annotations := inputs[i].Object.GetAnnotations()
		if annotations == nil {
			annotations = map[string]string{}
		}
		for _, key := range change.Remove {
			delete(annotations, key)
		}
		for key, value := range change.Set {
			annotations[key] = value
		}
		inputs[i].Object.SetAnnotations(annotations)
	}
	return nil
}

func isStamped(in apply.Input) bool {
	_, ok := in.Object.GetAnnotations()[stamp.LayerAnnotation]
	return ok
}
