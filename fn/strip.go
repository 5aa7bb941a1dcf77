package fn

// Strip takes every stamp off, of whatever order, and what emit wrote beside
// them. The order of the resources stays.
func Strip(in []byte) Output {
	source, err := read(withoutMarks(in))
	if err != nil {
		return failed(err)
	}
	metas := source.metas()
	if !source.isList() && len(metas) == 0 {
		return failed(errNoResources)
	}
	out := Output{metas: metas, decision: Decision{Sorted: unsorted(source), Changes: make([]Change, len(metas))}}
	for i, m := range metas {
		out.decision.Changes[i].Remove = written(m)
	}
	return Function{}.write(in, out, source)
}
