package fn

import (
	"errors"

	"github.com/ordapply/ordapply/internal/author/edit"
	"github.com/ordapply/ordapply/internal/plan/stamp"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/sortorder"
)

// errNoOrder is returned for a plain stream without an order.
var errNoOrder = errors.New("a plain stream needs an order: pass --order FILE; only a ResourceList contains one, as functionConfig")

// errNoResources is returned for a stream without resources: empty output with
// success could let a build delete everything.
var errNoResources = errors.New("the input contains no resources: did the previous command in the pipe fail?")

// errCarry is returned for a plain stream and an order of two passes.
var errCarry = errors.New("carry is for kustomize build; a plain stream does not need it: remove carry from the order")

// Run sorts and stamps a ResourceList or a plain stream, in UTF-8 or UTF-16. In a
// ResourceList it changes items and results, as Process does, and nothing else. A plain
// stream keeps every byte of a document that does not change, and of the others all but the
// lines of the stamps. A plain stream without an order or resources fails, as do the errors
// of Plan.
func (p Processor) Run(in []byte) Output {
	in, err := edit.Decode(in)
	if err != nil {
		return failed(err)
	}
	list, found, err := readList(in)
	switch {
	case err != nil:
		return failed(err)
	case found:
		return list.finish(in, p.process(&list.ResourceList))
	}
	stream, planner, out := p.startStream(in)
	if out.Findings.Failed() {
		return out
	}
	if out = planner.output(stream.Metas()); out.Findings.Failed() {
		return out
	}
	return p.write(in, stream, out)
}

// startStream parses a plain stream. If that fails, the output is final.
func (p Processor) startStream(in []byte) (*edit.Stream, Planner, Output) {
	stream, err := edit.Read(in)
	switch {
	case err != nil:
	case len(stream.Metas()) == 0:
		err = errNoResources
	case p.Order == nil:
		err = errNoOrder
	case p.Order.Carry != sortorder.NoPass:
		err = errCarry
	}
	if err != nil {
		return nil, Planner{}, failed(err)
	}
	objects := func(i int) map[string]any { return objectOf(stream.Body(i)) }
	return stream, Planner{Order: p.Order, Objects: objects}, Output{}
}

// write prints a plain stream as decided.
func (p Processor) write(in []byte, stream *edit.Stream, out Output) Output {
	if !out.changed && !stream.IsExploded() && !p.Marks && !edit.HasMarks(in) {
		out.stream = edit.Text{in}
		return out
	}
	documents, err := stream.Texts(out.decision.Sorted, edits(out.decision.Changes))
	if err != nil {
		return failed(err)
	}
	var layers []string
	if p.Marks {
		layers = layersOf(out.metas, out.decision)
	}
	out.stream = edit.Join(documents, layers)
	return out
}

// layersOf returns the layers of the sorted resources after the changes.
func layersOf(metas []object.Meta, decision Decision) []string {
	out := make([]string, 0, len(metas))
	for _, i := range decision.Sorted {
		layer := metas[i].Annotations[stamp.LayerAnnotation]
		if changed, ok := decision.Changes[i].Set[stamp.LayerAnnotation]; ok {
			layer = changed
		}
		if decision.HoistReasons[i] != "" {
			layer = "" // it is within another layer
		}
		out = append(out, layer)
	}
	return out
}
