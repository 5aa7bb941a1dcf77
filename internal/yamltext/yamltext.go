// Package yamltext makes UTF-8 of the streams that editors and shells write: it reads
// UTF-16, and takes off the marks that YAML allows before a document and its Go readers
// do not.
//
//	text, err := yamltext.Decode(in)
//	stream := yamltext.NewReader(file)
package yamltext

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"golang.org/x/text/encoding/unicode"
)

// mark is the byte order mark in UTF-8.
const mark = "\xef\xbb\xbf"

// errTruncated is met where UTF-16 ends in the middle of a character, or a byte was
// added behind it.
var errTruncated = errors.New("the text is UTF-16 and ends in the middle of a character: save it as UTF-8")

// Decode gives a text in UTF-8: UTF-16 is recognized by its byte order mark.
func Decode(in []byte) ([]byte, error) {
	if !isUTF16(in) {
		return in, nil
	}
	if len(in)%2 != 0 {
		return nil, errTruncated
	}
	out, err := unicode.UTF16(unicode.LittleEndian, unicode.ExpectBOM).NewDecoder().Bytes(in)
	if err == nil && bytes.Contains(out, []byte("\ufffd")) {
		err = errors.New("the text begins as UTF-16 and is none: save it as UTF-8")
	}
	return out, err
}

// NewReader is Decode for a stream. UTF-16 is read to its end first.
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

// failing is a stream that cannot be read.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

func isUTF16(in []byte) bool {
	return bytes.HasPrefix(in, []byte("\xff\xfe")) || bytes.HasPrefix(in, []byte("\xfe\xff"))
}

// WithoutMark takes a byte order mark off a line. A document may begin with one, where
// files are joined.
func WithoutMark(line []byte) []byte { return bytes.TrimPrefix(line, []byte(mark)) }

// IsVersion reports whether a line is a directive that names a version of YAML: what
// differs between 1.1 and 1.2 means nothing in a manifest.
func IsVersion(line []byte) bool {
	rest, ok := bytes.CutPrefix(bytes.TrimRight(line, " \t\r\n"), []byte("%YAML 1."))
	return ok && len(rest) > 0
}

// Clean takes byte order marks and version directives off the beginnings of documents.
// It returns the text itself where there are none.
func Clean(in []byte) []byte {
	if !bytes.Contains(in, []byte(mark)) && !bytes.Contains(in, []byte("%YAML ")) {
		return in
	}
	out := make([]byte, 0, len(in))
	begins := true // nothing but comments stood in the document so far
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

// Failure is the error of another program that stands in the place of a document, as
// `helm template 2>&1` prints it: its line; "" for any other document.
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

// Failed is the error for such a document.
func Failed(line string) error {
	return fmt.Errorf("this is no manifest but an error that the command before it printed: %q", line)
}
