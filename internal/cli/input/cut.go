package input

import (
	"bytes"
	"fmt"
	"io"
	"strings"
)

// Marks of layers, as ordapply sort --marks and renderers of Helm's resource groups print
// them.
const (
	startMark = "## START layer: "
	endMark   = "## END layer: "
	maxMark   = 512 // bytes of a line that may be a mark
)

// markReader is a Reader that follows the marks of layers. A stream that ends inside a layer
// was cut off.
type markReader struct {
	io.Reader
	line  []byte // the start of the current line
	layer string // the layer that is open; "" for none
}

func (m *markReader) Read(p []byte) (int, error) {
	n, err := m.Reader.Read(p)
	for rest := p[:n]; len(rest) > 0; {
		line, after, ended := bytes.Cut(rest, []byte("\n"))
		if room := maxMark - len(m.line); room > 0 {
			m.line = append(m.line, line[:min(len(line), room)]...)
		}
		if ended {
			m.endLine()
		}
		rest = after
	}
	return n, err
}

func (m *markReader) endLine() {
	text := strings.TrimRight(string(m.line), "\r")
	m.line = m.line[:0]
	if layer, ok := strings.CutPrefix(text, startMark); ok {
		m.layer = layer
	} else if layer, ok := strings.CutPrefix(text, endMark); ok && layer == m.layer {
		m.layer = ""
	}
}

// check returns an error when the stream, which was read to its end, was cut off.
func (m *markReader) check(source string) error {
	m.endLine()
	if m.layer == "" {
		return nil
	}
	return fmt.Errorf("%s: the stream is cut off: it ends inside layer %q, whose line %q is missing; print it again, or remove the marks", source, m.layer, endMark+m.layer)
}
