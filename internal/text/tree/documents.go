package tree

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// ParseAll parses a stream as kyaml does: it splits at lines that start with
// "---", so that a comment above a document belongs to it, and drops empty
// documents. Unlike kyaml it also reads text after "..." or a JSON value.
func ParseAll(in []byte) ([]*yaml.Node, error) {
	chunks, err := Split(in)
	if err != nil {
		return nil, err
	}
	var out []*yaml.Node
	for i, chunk := range chunks {
		read, err := ParseChunk(chunk)
		if err != nil {
			return nil, fmt.Errorf("document %d: %w", i+1, err)
		}
		out = append(out, read...)
	}
	return out, nil
}

// ParseChunk parses a part that Split returned: one document, or several after "..." or as
// JSON values, or none.
func ParseChunk(chunk []byte) ([]*yaml.Node, error) {
	parts, err := SplitJSON(bytes.ReplaceAll(chunk, []byte("\r\n"), []byte("\n")))
	if err != nil {
		return nil, err
	}
	var out []*yaml.Node
	for _, part := range parts {
		if line := Failure(part); line != "" {
			return nil, Failed(line)
		}
		read, err := parseText(part)
		if err != nil {
			return nil, fmt.Errorf("not YAML: %s", strings.TrimPrefix(err.Error(), "yaml: "))
		}
		out = append(out, read...)
	}
	return out, nil
}

// parseText parses all documents of a text.
func parseText(text []byte) ([]*yaml.Node, error) {
	var out []*yaml.Node
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	for {
		document := &yaml.Node{}
		err := decoder.Decode(document)
		switch {
		case errors.Is(err, io.EOF):
			return out, nil
		case err != nil:
			return nil, err
		case len(document.Content) > 0 && !IsNull(document.Content[0]):
			out = append(out, document)
		}
	}
}

// Split splits at "---" lines. Anything but a comment on such a line is an
// error, because kyaml rejects or loses it ("---#a: b" is a key).
func Split(in []byte) ([][]byte, error) {
	mark := []byte("\n---")
	var chunks [][]byte
	begin, from := 0, 0
	for {
		at := bytes.Index(in[from:], mark)
		if at < 0 {
			break
		}
		at += from
		length := bytes.IndexByte(in[at+1:], '\n')
		if length < 0 {
			break // a last line without a newline separates nothing
		}
		end := at + 1 + length
		rest := in[at+len(mark) : end]
		if text := bytes.TrimSpace(rest); len(text) > 0 && (text[0] != '#' || rest[0] == '#') {
			return nil, fmt.Errorf("line %d: %q is not a document separator: put a newline after ---", bytes.Count(in[:at+1], []byte("\n"))+1, in[at+1:end])
		}
		chunks = append(chunks, in[begin:at+1])
		begin, from = end+1, end+1
	}
	return append(chunks, in[begin:]), nil
}
