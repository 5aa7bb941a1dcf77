package fn

import (
	"bufio"
	"errors"
	"io"

	"github.com/ordapply/ordapply/internal/yamltext"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/sortorder"
)

// Function sorts and stamps a stream. The zero value takes its order from the
// functionConfig of a ResourceList; without one it uses sortorder.Default.
type Function struct {
	Order *sortorder.Order // instead of functionConfig; required for a plain stream
	Marks bool             // mark the start and end of layers in a plain stream
}

// Output is the result of a run: everything or nothing. If the run failed, the
// stream is a ResourceList with nothing but its results changed, or empty.
type Output struct {
	Findings Findings // in a ResourceList they are in its results too

	stream   text
	order    *sortorder.Order
	metas    []object.Meta
	decision Decision
}

// Stream returns the stream in UTF-8 as a single slice.
func (o Output) Stream() []byte { return o.stream.joined() }

// WriteTo writes the stream to w, without a copy of the whole. Its error is that of
// w. It implements io.WriterTo.
func (o Output) WriteTo(w io.Writer) (int64, error) {
	buffered := bufio.NewWriterSize(w, 64<<10)
	written := int64(0)
	for _, piece := range o.stream {
		n, err := buffered.Write(piece)
		written += int64(n)
		if err != nil {
			return written, err
		}
	}
	return written, buffered.Flush()
}

// Metas returns the metadata of the resources in input order; nil if the run
// failed.
func (o Output) Metas() []object.Meta { return o.metas }

// errNoOrder is returned for a plain stream without an order.
var errNoOrder = errors.New("a plain stream needs an order: pass --order FILE; only a ResourceList contains one, as functionConfig")

// errNoResources is returned for a stream without resources: empty output with
// success could let a build delete everything.
var errNoResources = errors.New("the input contains no resources: did the previous command in the pipe fail?")

// Run sorts and stamps a ResourceList or a plain stream, in UTF-8 or UTF-16. What
// is laid out plainly is kept byte for byte except for the lines of the stamps. A
// plain stream without an order or resources fails, as do the errors of Plan.
func (f Function) Run(in []byte) Output {
	source, decider, out := f.start(in)
	switch {
	case out.Findings.Failed():
		return out
	case decider.Order.Carry != sortorder.NoPass:
		return decider.carry(in)
	}
	if out = decider.output(source); out.Findings.Failed() {
		return out
	}
	return f.write(in, out, source)
}

// start parses the input and its order. If that fails, the output is final.
func (f Function) start(in []byte) (input, Planner, Output) {
	if utf8, err := yamltext.Decode(in); err == nil {
		in = utf8
	}
	source, err := read(withoutMarks(in))
	if err != nil {
		return nil, Planner{}, failed(err)
	}
	if !source.isList() && len(source.metas()) == 0 {
		return nil, Planner{}, failed(errNoResources)
	}
	decider, findings := f.decider(source)
	if findings.Failed() {
		return nil, Planner{}, refused(source, findings)
	}
	decider.Objects = source.object
	return source, decider, Output{}
}

// output decides. If that fails, the output is final; otherwise its stream is
// still empty.
func (d Planner) output(source input) Output {
	metas := source.metas()
	decision := d.decide(metas)
	if decision.Findings.Failed() {
		return refused(source, decision.Findings)
	}
	return Output{Findings: decision.Findings, order: d.Order, metas: metas, decision: decision}
}

// write prints the source as decided. If nothing changes it returns the input
// itself, since encoders may change comments.
func (f Function) write(in []byte, out Output, source input) Output {
	if decoded, err := yamltext.Decode(in); err == nil {
		in = decoded // output is always UTF-8
	}
	if out.decision.isNoop(out.metas) && source.unchanged(out.Findings) && !f.Marks && len(withoutMarks(in)) == len(in) {
		out.stream = text{in}
		return out
	}
	var err error
	out.stream, err = f.print(out, source)
	if errors.Is(err, errNotPlain) {
		if source, err = readAsTree(in); err == nil {
			out.stream, err = f.print(out, source)
		}
	}
	if err != nil {
		return failed(err)
	}
	return out
}

// readAsTree parses input with any layout.
func readAsTree(in []byte) (input, error) {
	in, err := yamltext.Decode(in)
	if err != nil {
		return nil, err
	}
	return readTree(withoutMarks(yamltext.Clean(in)))
}

func (f Function) print(out Output, source input) (text, error) {
	if source.isList() {
		return source.resourceList(out.decision.Sorted, out.decision.Changes, out.Findings)
	}
	return f.plain(out, source)
}

// plain prints a plain stream.
func (f Function) plain(out Output, source input) (text, error) {
	documents, err := source.texts(out.decision.Sorted, out.decision.Changes)
	if err != nil {
		return nil, err
	}
	var layers []string
	if f.Marks {
		layers = layersOf(out.metas, out.decision)
	}
	return join(documents, layers), nil
}

func failed(err error) Output {
	return Output{Findings: Findings{{Severity: Error, Message: err.Error()}}}
}

// refused returns a ResourceList unchanged with the findings in its results;
// for a plain stream only the findings.
func refused(source input, findings Findings) Output {
	if !source.isList() {
		return Output{Findings: findings}
	}
	printed, err := source.resourceList(unsorted(source), make([]Change, len(source.metas())), findings)
	if err != nil {
		findings.add(Finding{Severity: Error, Message: err.Error()})
	}
	return Output{stream: printed, Findings: findings}
}

// unsorted returns the indices in input order.
func unsorted(source input) []int {
	same := make([]int, len(source.metas()))
	for i := range same {
		same[i] = i
	}
	return same
}

// decider returns the Planner with the order: the function's, the
// functionConfig's, or the default if a ResourceList has none.
func (f Function) decider(source input) (Planner, Findings) {
	if f.Order != nil {
		return Planner{Order: f.Order}, nil
	}
	if !source.isList() {
		return Planner{}, failed(errNoOrder).Findings
	}
	config := source.config()
	if config == nil {
		return Planner{Order: sortorder.Default()}, nil
	}
	order, err := sortorder.Parse(config)
	if err != nil {
		return Planner{}, problemFindings(err)
	}
	return Planner{Order: order, Config: configID(config)}, nil
}

// configID returns the ID of the functionConfig.
func configID(config []byte) object.ID {
	parsed, err := readTree(config)
	if err != nil || len(parsed.items) != 1 {
		return object.ID{}
	}
	return parsed.items[0].meta.ID
}

// problemFindings converts the errors of a configuration to findings.
func problemFindings(err error) Findings {
	var problems sortorder.Problems
	if !errors.As(err, &problems) {
		return Findings{{Severity: Error, Message: err.Error()}}
	}
	var out Findings
	for _, p := range problems {
		out.add(Finding{Severity: Error, Field: p.Path, Message: p.Message})
	}
	return out
}
