package edit

import (
	"bytes"
	"fmt"
	"unicode/utf8"

	"github.com/ordapply/ordapply/internal/text/tree"
)

// Decode returns text in UTF-8 or UTF-16 as UTF-8, without byte order marks and version
// directives, with a newline at the end.
func Decode(in []byte) ([]byte, error) {
	in, err := tree.Decode(in)
	if err != nil {
		return nil, err
	}
	if at := invalidByte(in); at < len(in) {
		return nil, fmt.Errorf("the input is not UTF-8 text, at byte %d in line %d", at+1, bytes.Count(in[:at], []byte("\n"))+1)
	}
	return tree.WithLastNewline(tree.Clean(in)), nil
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
