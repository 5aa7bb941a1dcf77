package fn

import (
	"bytes"
	"fmt"
	"unicode/utf8"

	"github.com/ordapply/ordapply/internal/yamltext"
	"github.com/ordapply/ordapply/object"
)

// input is a ResourceList or a plain stream of documents, read.
type input interface {
	isList() bool // a ResourceList
	metas() []object.Meta
	object(i int) map[string]any // the manifest of a resource; it is not kept
	config() []byte              // the ResourceList's functionConfig; nil: none
	// settled tells whether the findings, and the form of the input, leave
	// nothing to write where the resources stay as they are.
	settled(findings Findings) bool
	// texts are the resources of a plain stream, in the given order and changed
	// as told, each a document that ends in a newline; and what stands behind
	// them all.
	texts(sorted []int, changes []Change) ([]text, error)
	// resourceList is the list with its items in the given order, changed as
	// told, and the findings added to its results.
	resourceList(sorted []int, changes []Change, findings Findings) (text, error)
}

// text is a document, or a stream, in pieces, which are written one after the
// other.
type text [][]byte

func (t text) joined() []byte { return bytes.Join(t, nil) }

// read reads any input that kustomize or kpt would.
func read(in []byte) (input, error) {
	in, err := yamltext.Decode(in)
	if err != nil {
		return nil, err
	}
	in = yamltext.Clean(in)
	if at := invalidByte(in); at < len(in) {
		return nil, fmt.Errorf("the input is not UTF-8 text, at byte %d in line %d", at+1, bytes.Count(in[:at], []byte("\n"))+1)
	}
	if v, ok := readVerbatim(in); ok {
		return v, nil
	}
	return readTree(in)
}

// invalidByte is where UTF-8 ends.
func invalidByte(in []byte) int {
	if utf8.Valid(in) {
		return len(in)
	}
	at := 0
	for {
		r, size := utf8.DecodeRune(in[at:])
		if r == utf8.RuneError && size <= 1 {
			return at
		}
		at += size
	}
}
