package fn

import "github.com/ordapply/ordapply/internal/author/edit"

// RunAsTree is Run without reading by lines.
func (f Function) RunAsTree(in []byte) Output {
	source, err := edit.ReadTree(in)
	if err != nil {
		return failed(err)
	}
	planner, findings := f.planner(source.Config())
	if findings.Failed() {
		return refused(source, findings)
	}
	planner.Objects = source.Object
	out := planner.output(source)
	if out.Findings.Failed() {
		return out
	}
	if out.stream, err = f.print(out, source); err != nil {
		return failed(err)
	}
	return out
}
