package edit

import (
	"bytes"
	"fmt"
	"unicode/utf8"

	"sigs.k8s.io/kustomize/kyaml/fn/framework"

	"github.com/ordapply/ordapply/internal/text/tree"
	"github.com/ordapply/ordapply/object"
)

// Input is a parsed ResourceList or stream of documents.
type Input interface {
	IsList() bool // whether it is a ResourceList
	Metas() []object.Meta
	Object(i int) map[string]any // the manifest of a resource; not cached
	Config() []byte              // the ResourceList's functionConfig, or nil
	// unchanged reports whether the input can be returned unchanged if no
	// resource changes, considering its form and the results.
	Unchanged(results []*framework.Result) bool
	// texts returns the resources of a plain stream in the given order with the
	// changes applied, each a document that ends in a newline, followed by
	// trailing comments.
	Texts(sorted []int, changes []Change) ([]Text, error)
	// resourceList returns the list with its items in the given order, the
	// changes applied, and these results added to its own.
	ResourceList(sorted []int, changes []Change, results []*framework.Result) (Text, error)
}

// Read parses any input that kustomize or kpt accept, in UTF-8 or UTF-16, without the
// marks of layers.
func Read(in []byte) (Input, error) {
	in, err := decoded(in)
	if err != nil {
		return nil, err
	}
	if at := invalidByte(in); at < len(in) {
		return nil, fmt.Errorf("the input is not UTF-8 text, at byte %d in line %d", at+1, bytes.Count(in[:at], []byte("\n"))+1)
	}
	if v, ok := readTextStream(in); ok {
		return v, nil
	}
	return readTree(in)
}

// ReadTree is Read for a caller that changes more than annotations: the input is printed
// from its nodes.
func ReadTree(in []byte) (*Tree, error) {
	in, err := decoded(in)
	if err != nil {
		return nil, err
	}
	return readTree(in)
}

// decoded returns the input in UTF-8, without byte order marks and marks of layers, with a
// newline at the end.
func decoded(in []byte) ([]byte, error) {
	in, err := tree.Decode(in)
	return tree.WithLastNewline(tree.Clean(withoutMarks(in))), err
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
