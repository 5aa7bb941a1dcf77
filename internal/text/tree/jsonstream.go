package tree

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// StrayError reports text after a JSON value that is not a JSON value.
type StrayError struct {
	Text string // the start of the text
}

// Error quotes the text.
func (e *StrayError) Error() string {
	return fmt.Sprintf("unexpected text %q after a JSON object: is a line --- missing between them?", e.Text)
}

// SplitJSON returns the parts of a text, which add up to the whole text: each JSON
// object or list with the white space and comments before it. A text that does
// not start with one is its own only part. The error is a *StrayError; the last
// part is then the text after the valid ones.
func SplitJSON(text []byte) ([][]byte, error) {
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

// valueLength returns the length of the JSON object or list at the start of a
// text; 0 if there is none.
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

// blank returns the length of the white space and comments at the start of a
// text.
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

// OddBreaks reports whether a text contains line breaks, in YAML's sense, that
// are not part of a newline. They end a comment.
func OddBreaks(text []byte) bool {
	for _, odd := range []string{"\u0085", "\u2028", "\u2029"} {
		if bytes.Contains(text, []byte(odd)) {
			return true
		}
	}
	returns := bytes.Count(text, []byte("\r"))
	return returns > 0 && returns != bytes.Count(text, []byte("\r\n"))+bytes.Count(text[len(text)-1:], []byte("\r"))
}
