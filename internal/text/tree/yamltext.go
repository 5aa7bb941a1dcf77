package tree

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"

	"golang.org/x/text/encoding/unicode"
)

// mark is the byte order mark in UTF-8.
const mark = "\xef\xbb\xbf"

// errTruncated is returned for UTF-16 that ends in the middle of a character,
// or with an extra byte.
var errTruncated = errors.New("the text is UTF-16 and ends in the middle of a character: save it as UTF-8")

// Decode returns the text in UTF-8. It recognizes UTF-16 by its byte order
// mark.
func Decode(in []byte) ([]byte, error) {
	if !isUTF16(in) {
		return in, nil
	}
	if len(in)%2 != 0 {
		return nil, errTruncated
	}
	out, err := unicode.UTF16(unicode.LittleEndian, unicode.ExpectBOM).NewDecoder().Bytes(in)
	if err == nil && bytes.Contains(out, []byte("\ufffd")) {
		err = errors.New("the text has a UTF-16 byte order mark but is not UTF-16: save it as UTF-8")
	}
	return out, err
}

// NewReader is Decode for a stream. It reads UTF-16 to its end first.
func NewReader(r io.Reader) io.Reader {
	begin := bufio.NewReaderSize(r, 64<<10)
	if first, _ := begin.Peek(2); !isUTF16(first) {
		return begin
	}
	whole, err := io.ReadAll(begin)
	if err == nil {
		whole, err = Decode(whole)
	}
	if err != nil {
		return failing{err}
	}
	return bytes.NewReader(whole)
}

// failing is a Reader that always returns an error.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

func isUTF16(in []byte) bool {
	return bytes.HasPrefix(in, []byte("\xff\xfe")) || bytes.HasPrefix(in, []byte("\xfe\xff"))
}

// WithLastNewline ends the last line of a text with a newline, as kubectl and Helm do
// before they read it: a block scalar there has it in its value.
func WithLastNewline(text []byte) []byte {
	if len(text) == 0 || text[len(text)-1] == '\n' {
		return text
	}
	return append(bytes.Clone(text), '\n')
}

// WithoutMark removes a byte order mark from a line. In concatenated files any
// document may start with one.
func WithoutMark(line []byte) []byte { return bytes.TrimPrefix(line, []byte(mark)) }

// IsVersion reports whether a line is a YAML version directive: the differences
// between 1.1 and 1.2 do not matter for manifests.
func IsVersion(line []byte) bool {
	return bytes.HasPrefix(line, []byte("%YAML")) && regexp.MustCompile(`^%YAML[ \t]+1\.[0-9]+([ \t]+#.*)?\s*$`).Match(line)
}

// Clean removes byte order marks and version directives from the start of
// documents. It returns the text itself if there are none.
func Clean(in []byte) []byte {
	if !bytes.Contains(in, []byte(mark)) && !bytes.Contains(in, []byte("%YAML")) {
		return in
	}
	out := make([]byte, 0, len(in))
	begins := true // only comments in the document so far
	for line := range bytes.Lines(in) {
		if begins {
			line = WithoutMark(line)
		}
		switch word := bytes.TrimSpace(line); {
		case begins && IsVersion(line):
			continue
		case bytes.HasPrefix(line, []byte("---")), bytes.HasPrefix(line, []byte("...")):
			begins = true
		case len(word) > 0 && word[0] != '#':
			begins = false
		}
		out = append(out, line...)
	}
	return out
}

// Failure returns the error line of another program in place of a document, as
// from `helm template 2>&1`; "" for any other document.
func Failure(document []byte) string {
	for line := range bytes.Lines(document) {
		line = bytes.TrimSpace(line)
		if len(line) == 0 || line[0] == '#' || bytes.HasPrefix(line, []byte("---")) {
			continue
		}
		if bytes.HasPrefix(line, []byte("Error: ")) || bytes.HasPrefix(line, []byte("error: ")) {
			return string(line)
		}
		return ""
	}
	return ""
}

// Failed returns the error for a document with this line from Failure.
func Failed(line string) error {
	return fmt.Errorf("not a manifest but an error message of the previous command: %q", line)
}
