package fn

import (
	"github.com/ordapply/ordapply/internal/author/edit"
	"github.com/ordapply/ordapply/internal/author/keys"
)

// Strip removes every stamp, of any order, and the annotations that emit wrote.
// It keeps the order of resources. It fails on input that cannot be parsed.
func Strip(in []byte) Output {
	source, err := edit.Read(in)
	if err != nil {
		return failed(err)
	}
	metas := source.Metas()
	if !source.IsList() && len(metas) == 0 {
		return failed(errNoResources)
	}
	out := Output{metas: metas, decision: Decision{Sorted: unsorted(source), Changes: make([]Change, len(metas))}}
	for i, m := range metas {
		out.decision.Changes[i].Remove = keys.Written(m)
	}
	return Function{}.write(in, out, source)
}
