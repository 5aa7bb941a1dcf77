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
// ResourceList's functionConfig.
type Function struct {
	Order *sortorder.Order // instead of functionConfig; required for a plain stream
	Marks bool             // in a plain stream, mark where layers begin and end
}

// Output of a run. Its stream is complete or empty: a ResourceList always comes
// back, unchanged but for its results when the run failed; a plain stream comes
// back only from a run that did not fail.
type Output struct {
	Findings Findings

	stream   text
	order    *sortorder.Order
	metas    []object.Meta
	decision Decision
}

// Stream is the stream as one text.
func (o Output) Stream() []byte { return o.stream.joined() }

// WriteTo writes the stream without making one text of it first.
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

// Metas are the metadata of the resources as they were read, in the order they
// came; nil when the run failed.
func (o Output) Metas() []object.Meta { return o.metas }

// errNoOrder refuses a plain stream that nobody gave an order.
var errNoOrder = errors.New("a plain stream needs an order: --order FILE; only a ResourceList brings its own, as functionConfig")

// errNoResources refuses a stream without resources: writing nothing with
// success would let a build delete everything.
var errNoResources = errors.New("the input holds no resource: did the command before it in the pipe fail?")

// Run reads a ResourceList or a plain stream and writes it sorted and stamped.
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

// start reads the input and its order. When that failed, the output is what is
// to be written.
func (f Function) start(in []byte) (input, Decider, Output) {
	if utf8, err := yamltext.Decode(in); err == nil {
		in = utf8
	}
	source, err := read(withoutMarks(in))
	if err != nil {
		return nil, Decider{}, failed(err)
	}
	if !source.isList() && len(source.metas()) == 0 {
		return nil, Decider{}, failed(errNoResources)
	}
	decider, findings := f.decider(source)
	if findings.Failed() {
		return nil, Decider{}, refused(source, findings)
	}
	decider.Objects = source.object
	return source, decider, Output{}
}

// output decides. When that failed, it is what is to be written; else its
// stream is still empty.
func (d Decider) output(source input) Output {
	metas := source.metas()
	decision := d.decide(metas)
	if decision.Findings.Failed() {
		return refused(source, decision.Findings)
	}
	return Output{Findings: decision.Findings, order: d.Order, metas: metas, decision: decision}
}

// write prints the source as decided. Where nothing changes, that is the input
// itself: printers are not always of one mind about comments.
func (f Function) write(in []byte, out Output, source input) Output {
	if decoded, err := yamltext.Decode(in); err == nil {
		in = decoded // what is printed is UTF-8, also where nothing changes
	}
	if out.decision.isNothing(out.metas) && source.settled(out.Findings) && !f.Marks && len(withoutMarks(in)) == len(in) {
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

// readAsTree reads input that is not plainly laid out.
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

// refused gives a ResourceList back as it came, with the findings in its
// results; of a plain stream nothing.
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

// unsorted is the order of the input.
func unsorted(source input) []int {
	same := make([]int, len(source.metas()))
	for i := range same {
		same[i] = i
	}
	return same
}

// decider finds the order: ours, the functionConfig's, or the default when a
// ResourceList brings none.
func (f Function) decider(source input) (Decider, Findings) {
	if f.Order != nil {
		return Decider{Order: f.Order}, nil
	}
	if !source.isList() {
		return Decider{}, failed(errNoOrder).Findings
	}
	config := source.config()
	if config == nil {
		return Decider{Order: sortorder.Default()}, nil
	}
	order, err := sortorder.Parse(config)
	if err != nil {
		return Decider{}, problemFindings(err)
	}
	return Decider{Order: order, Config: configID(config)}, nil
}

// configID is the functionConfig as an item would name itself.
func configID(config []byte) object.ID {
	parsed, err := readTree(config)
	if err != nil || len(parsed.items) != 1 {
		return object.ID{}
	}
	return parsed.items[0].meta.ID
}

// problemFindings are the faults of a configuration, one each.
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
