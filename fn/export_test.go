package fn

// VerbatimItems are the texts of the resources when the input is read by lines, and
// each is plainly laid out; ok is false when it is not.
func VerbatimItems(in []byte) (items []string, ok bool) {
	v, ok := readVerbatim(withoutMarks(in))
	if !ok {
		return nil, false
	}
	for _, item := range v.items {
		if item.anew {
			return nil, false
		}
		items = append(items, string(item.before)+string(item.text))
	}
	return items, true
}

// RunAsTree is Run without the reading by lines.
func (f Function) RunAsTree(in []byte) Output {
	source, err := readTree(withoutMarks(in))
	if err != nil {
		return failed(err)
	}
	decider, findings := f.decider(source)
	if findings.Failed() {
		return refused(source, findings)
	}
	decider.Objects = source.object
	out := decider.output(source)
	if out.Findings.Failed() {
		return out
	}
	if out.stream, err = f.print(out, source); err != nil {
		return failed(err)
	}
	return out
}
