package fn

import (
	"github.com/ordapply/ordapply/internal/author/edit"
	"github.com/ordapply/ordapply/internal/author/keys"
	"github.com/ordapply/ordapply/object"
)

// Strip removes every stamp, of any order, and the annotations that emit wrote.
// It keeps the order of resources. It fails on input that cannot be parsed.
func Strip(in []byte) Output {
	in, err := edit.Decode(in)
	if err != nil {
		return failed(err)
	}
	list, found, err := readList(in)
	if err != nil {
		return failed(err)
	}
	if !found {
		stream, err := edit.Read(in)
		switch {
		case err != nil:
			return failed(err)
		case len(stream.Metas()) == 0:
			return failed(errNoResources)
		}
		return Processor{}.write(in, stream, withoutStamps(stream.Metas()))
	}
	items, err := itemsOf(&list.ResourceList)
	if err != nil {
		return failed(err)
	}
	out := withoutStamps(items.metas)
	if err := items.change(&list.ResourceList, out.decision); err != nil {
		return failed(err)
	}
	return list.finish(in, out)
}

// withoutStamps decides to remove all stamps.
func withoutStamps(metas []object.Meta) Output {
	out := Output{metas: metas, decision: Decision{Changes: make([]Change, len(metas)), HoistReasons: make([]string, len(metas))}}
	for i, m := range metas {
		out.decision.Sorted = append(out.decision.Sorted, i)
		out.decision.Changes[i].Remove = keys.Written(m)
	}
	out.changed = !out.decision.isNoop(metas)
	return out
}
