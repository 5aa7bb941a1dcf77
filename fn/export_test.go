package fn

// VerbatimItems returns the texts of the resources if the input can be read by
// lines and every resource has a plain layout; else ok is false.
func VerbatimItems(in []byte) (items []string, ok bool) {
	v, ok := readTextStream(withoutMarks(in))
	if !ok {
		return nil, false
	}
	for _, item := range v.items {
		if item.reprinted {
			return nil, false
		}
		items = append(items, string(item.before)+string(item.text))
	}
	return items, true
}

// RunAsTree is Run without reading by lines.
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
