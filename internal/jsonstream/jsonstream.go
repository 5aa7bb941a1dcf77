// Package jsonstream takes apart JSON values that stand one behind the other
// with nothing between them, as `jq -c '.items[]'` prints them. YAML wants a
// line --- there, and its readers stop behind the first value without a word.
package jsonstream

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// StrayError is text behind a JSON value that is none itself.
type StrayError struct {
	Text string // the beginning of what stands there
}

func (e *StrayError) Error() string {
	return fmt.Sprintf("%q stands behind a JSON object and is none: is a line --- missing between them?", e.Text)
}

// Split gives the parts of a text, which together are the whole of it: each JSON
// object or list with the blanks and comments before it. A text that does not
// begin with one is its own only part. With an error the last part is what stands
// behind the others.
func Split(text []byte) ([][]byte, error) {
	var parts [][]byte
	from, at := 0, blank(text)
	for at < len(text) {
		end := at + valueLength(text[at:])
		switch {
		case end == at && parts == nil:
			return [][]byte{text}, nil
		case end == at:
			line, _, _ := bytes.Cut(text[at:], []byte("\n"))
			return append(parts, text[from:]), &StrayError{string(line[:min(len(line), 40)])}
		}
		parts = append(parts, text[from:end])
		from, at = end, end+blank(text[end:])
	}
	if parts == nil {
		return [][]byte{text}, nil
	}
	last := len(parts) - 1
	parts[last] = text[from-len(parts[last]):]
	return parts, nil
}

// valueLength is how long the JSON object or list is that a text begins with; 0
// when it begins with none.
func valueLength(text []byte) int {
	if text[0] != '{' && text[0] != '[' {
		return 0
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	var value json.RawMessage
	if decoder.Decode(&value) != nil {
		return 0
	}
	return int(decoder.InputOffset())
}

// blank is the length of the blanks and comments that a text begins with.
func blank(text []byte) int {
	at := 0
	for at < len(text) {
		switch text[at] {
		case ' ', '\t', '\r', '\n':
			at++
		case '#':
			line, _, _ := bytes.Cut(text[at:], []byte("\n"))
			if OddBreaks(line) {
				return at
			}
			at += len(line)
		default:
			return at
		}
	}
	return at
}

// OddBreaks tells whether a text has line breaks, as YAML sees it, that neither
// are nor follow a newline: such a one ends a comment.
func OddBreaks(text []byte) bool {
	for _, odd := range []string{"\u0085", "\u2028", "\u2029"} {
		if bytes.Contains(text, []byte(odd)) {
			return true
		}
	}
	returns := bytes.Count(text, []byte("\r"))
	return returns > 0 && returns != bytes.Count(text, []byte("\r\n"))+bytes.Count(text[len(text)-1:], []byte("\r"))
}
