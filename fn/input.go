package fn

import (
	"bytes"
	"fmt"
	"unicode/utf8"

	"github.com/ordapply/ordapply/internal/yamltext"
	"github.com/ordapply/ordapply/object"
)

// input is a parsed ResourceList or stream of documents.
type input interface {
	isList() bool // whether it is a ResourceList
	metas() []object.Meta
	object(i int) map[string]any // the manifest of a resource; not cached
	config() []byte              // the ResourceList's functionConfig, or nil
	// unchanged reports whether the input can be returned unchanged if no
	// resource changes, considering its form and the findings.
	unchanged(findings Findings) bool
	// texts returns the resources of a plain stream in the given order with the
	// changes applied, each a document that ends in a newline, followed by
	// trailing comments.
	texts(sorted []int, changes []Change) ([]text, error)
	// resourceList returns the list with its items in the given order, the
	// changes applied, and the findings added to its results.
	resourceList(sorted []int, changes []Change, findings Findings) (text, error)
}

// text is a document or stream as a list of pieces.
type text [][]byte

func (t text) joined() []byte { return bytes.Join(t, nil) }

// read parses any input that kustomize or kpt accept.
func read(in []byte) (input, error) {
	in, err := yamltext.Decode(in)
	if err != nil {
		return nil, err
	}
	in = yamltext.Clean(in)
	if at := invalidByte(in); at < len(in) {
		return nil, fmt.Errorf("the input is not UTF-8 text, at byte %d in line %d", at+1, bytes.Count(in[:at], []byte("\n"))+1)
	}
	if v, ok := readTextStream(in); ok {
		return v, nil
	}
	return readTree(in)
}

// invalidByte returns the offset of the first byte that is not valid UTF-8.
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
