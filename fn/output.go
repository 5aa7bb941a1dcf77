package fn

import (
	"bufio"
	"io"

	"github.com/ordapply/ordapply/internal/author/edit"
	"github.com/ordapply/ordapply/object"
	"github.com/ordapply/ordapply/sortorder"
)

// Output is the result of a run: everything or nothing. If the run failed, the
// stream is a ResourceList with nothing but its results changed, or empty.
type Output struct {
	Findings Findings // in a ResourceList they are in its results too

	stream   edit.Text
	order    *sortorder.Order
	metas    []object.Meta
	decision Decision
	changed  bool // a resource, or the order
}

// Stream returns the stream in UTF-8 as a single slice.
func (o Output) Stream() []byte { return o.stream.Joined() }

// Metas returns the metadata of the resources in input order; nil if the run
// failed.
func (o Output) Metas() []object.Meta { return o.metas }

// WriteTo writes the stream to w, without a copy of the whole. Its error is w's. It
// implements io.WriterTo.
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

func failed(err error) Output {
	return Output{Findings: Findings{{Severity: Error, Message: err.Error()}}}
}
