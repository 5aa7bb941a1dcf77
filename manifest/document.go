package manifest

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"

	"github.com/ordapply/ordapply/internal/text/tree"
)

// document is a YAML document or JSON value with its position.
type document struct {
	text   []byte
	number int   // from 1, counting documents with content
	line   int   // of its first line in the stream, from 1
	first  int   // of its first line with content
	fault  error // set if it is text after a document, not a document
}

// documents splits a stream at document markers and between JSON values. It
// skips documents that contain only white space and comments. An error ends the
// stream.
func documents(stream io.Reader) iter.Seq2[document, error] {
	return func(yield func(document, error) bool) {
		lines := bufio.NewReaderSize(tree.NewReader(stream), 64<<10)
		c := cutter{yield: yield, number: 1}
		var text []byte
		first := 1          // line number of text
		hasContent := false // text has content
		for line := 1; ; line++ {
			next, err := lines.ReadBytes('\n')
			if !hasContent {
				next = tree.WithoutMark(next)
				if tree.IsVersion(next) {
					next = []byte("\n") // keeps line numbers
				}
			}
			if isMarker(next) {
				if !c.cut(text, first) {
					return
				}
				text, first, next, hasContent = nil, line, next[len("---"):], false
			}
			if !hasContent {
				_, hasContent = beforeContent(next)
			}
			text = append(text, next...)
			if err == io.EOF {
				c.cut(text, first)
				return
			}
			if err != nil {
				yield(document{}, err)
				return
			}
		}
	}
}

// cutter yields the documents between two markers.
type cutter struct {
	yield  func(document, error) bool
	number int // of the next document
}

// cut returns false if the consumer stopped.
func (c *cutter) cut(text []byte, line int) bool {
	parts, trailing := tree.SplitJSON(text)
	for i, part := range parts {
		if skip, ok := beforeContent(part); ok {
			doc := document{text: part, number: c.number, line: line, first: line + skip}
			if i == len(parts)-1 {
				doc.fault = trailing
			}
			if !c.yield(doc, nil) {
				return false
			}
			c.number++
		}
		line += bytes.Count(part, []byte("\n"))
	}
	return true
}

// isMarker reports whether a line starts or ends a document: after "..."
// another one may follow without "---".
func isMarker(line []byte) bool {
	if !bytes.HasPrefix(line, []byte("---")) && !bytes.HasPrefix(line, []byte("...")) {
		return false
	}
	rest := line[len("---"):]
	return len(rest) == 0 || strings.ContainsRune(" \t\r\n", rune(rest[0]))
}

// beforeContent returns the number of blank and comment lines before a
// document's content; ok is false if there is no content.
func beforeContent(text []byte) (lines int, ok bool) {
	for line := range bytes.Lines(text) {
		if line = bytes.TrimSpace(line); len(line) > 0 && (line[0] != '#' || tree.OddBreaks(line)) {
			return lines, true
		}
		lines++
	}
	return 0, false
}

// checkTrailing returns an error if more text follows the first document, since
// YAML libraries would ignore it.
func checkTrailing(text []byte) error {
	if fillsLines(text) {
		return nil
	}
	decoder := yamlv3.NewDecoder(bytes.NewReader(text))
	for n := 0; ; n++ {
		var node yamlv3.Node
		err := decoder.Decode(&node)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case n == 0:
		case err != nil:
			return trailingTextError(err)
		case len(node.Content) > 0 && node.Content[0].Tag != "!!null":
			return fmt.Errorf("line %d: another document begins here without a line --- before it", node.Line)
		}
	}
}

// trailingTextError returns an error with the line of unexpected text after a document.
// The parser counts lines from 0 there.
func trailingTextError(err error) error {
	line := 0
	if _, scanErr := fmt.Sscanf(err.Error(), "yaml: line %d: did not find expected <document start>", &line); scanErr != nil {
		return err
	}
	return fmt.Errorf("line %d: unexpected text after the object: if it is another document, put a line --- before it", line+1)
}

// fillsLines reports whether the text is a mapping whose first key starts a
// line, as almost all documents are: it ends at a marker or with the text. Line
// breaks that only YAML recognizes could hide a marker.
func fillsLines(text []byte) bool {
	if tree.OddBreaks(text) {
		return false
	}
	skip, _ := beforeContent(text)
	for range skip {
		text = text[bytes.IndexByte(text, '\n')+1:]
	}
	word := 0
	for word < len(text) && (text[word]|0x20 >= 'a' && text[word]|0x20 <= 'z') {
		word++
	}
	return word > 0 && word+1 < len(text) && text[word] == ':' && strings.ContainsRune(" \r\n", rune(text[word+1]))
}
