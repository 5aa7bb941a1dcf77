package fn

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// Block scalars (scripts, dashboards, descriptions in CRDs) are most of many
// streams, no selector reads them, and parsers read them character by
// character. Therefore all their lines except the first are blanked before
// parsing. The result is otherwise the same: the parser reads the same header
// and first line in the same context and takes the indentation from them; a
// line that is blank, or indented at least as much, continues the scalar. The
// tree must then contain exactly that text at that line, else the document is
// parsed unchanged.

// blockScalar is a block scalar that was cut to its first line.
type blockScalar struct {
	line  int    // of the header, counted as nodes do, from 1
	first []byte // content of its first line
}

// blockScalarParser parses texts with block scalars cut short. The zero value is
// ready to use.
type blockScalarParser struct {
	text []byte // the parsed text; reused, since trees do not refer to it
	cut  []blockScalar
}

// parse is parseAlone with block scalars cut short, except in fields that an
// order reads. column is the column of resource keys, and bodiesOf returns the
// resources of the document.
func (p *blockScalarParser) parse(text []byte, column int, bodiesOf func(*yaml.Node) []*yaml.Node) (*yaml.Node, bool) {
	if p.shorten(text, column); len(p.cut) == 0 {
		return parseAlone(text)
	}
	root, ok := parseAlone(p.text)
	if ok && matchBlockScalars(p.cut, bodiesOf(root)) {
		return root, true
	}
	return parseAlone(text)
}

// matchBlockScalars reports whether the resources contain each scalar where it was
// cut, outside the fields that an order reads.
func matchBlockScalars(cut []blockScalar, bodies []*yaml.Node) bool {
	for _, body := range bodies {
		for i := 0; i+1 < len(body.Content); i += 2 {
			if isLookedAt(body.Content[i].Value) {
				continue
			}
			each(body.Content[i+1], func(node *yaml.Node) {
				if len(cut) > 0 && cut[0].is(node) {
					cut = cut[1:]
				}
			})
		}
	}
	return len(cut) == 0
}

func isLookedAt(key string) bool { return key == "apiVersion" || key == "kind" || key == "metadata" }

func (b blockScalar) is(node *yaml.Node) bool {
	return node.Line == b.line && node.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 && strings.Trim(node.Value, "\n") == string(b.first)
}

// shorten copies the text with the lines of block scalars blanked, keeping line
// numbers, and records what was cut. If nothing can be cut it makes no copy.
func (p *blockScalarParser) shorten(text []byte, column int) {
	p.text, p.cut = p.text[:0], p.cut[:0]
	kept, inMetadata := 0, false // end of the copied text
	for at, line := 0, 1; at < len(text); line++ {
		next := lineEnd(text, at)
		header := text[at:next]
		if len(header) > column+1 && header[column] != ' ' && header[column] != '#' {
			inMetadata = bytes.HasPrefix(header[column:], []byte("metadata:"))
		}
		at = next
		if inMetadata || !isBlockHeader(header) {
			continue
		}
		if b, from, to := cutBlock(text, at); from < to {
			lines := bytes.Count(text[at:to], []byte("\n"))
			b.line = line
			p.cut = append(p.cut, b)
			p.text = append(p.text, text[kept:from]...)
			for range bytes.Count(text[from:to], []byte("\n")) {
				p.text = append(p.text, '\n')
			}
			line += lines
			at, kept = to, to
		}
	}
	if len(p.cut) > 0 {
		p.text = append(p.text, text[kept:]...)
	}
}

// cutBlock returns the block scalar below a header, and the range of lines to blank.
func cutBlock(text []byte, at int) (b blockScalar, from, to int) {
	for at < len(text) && isBlank(text[at:lineEnd(text, at)]) {
		at = lineEnd(text, at)
	}
	from = lineEnd(text, at)
	first := text[at:from]
	indent := len(first) - len(bytes.TrimLeft(first, " "))
	if !bytes.HasSuffix(first, []byte("\n")) {
		return b, from, from
	}
	return blockScalar{first: first[indent : len(first)-1]}, from, endOfBlock(text, from, indent)
}

// lineEnd returns the end of the line that starts at this offset, including its newline.
func lineEnd(text []byte, at int) int {
	if length := bytes.IndexByte(text[at:], '\n'); length >= 0 {
		return at + length + 1
	}
	return len(text)
}

// isBlockHeader reports whether a line looks like the header of a block scalar
// without an indentation indicator.
func isBlockHeader(line []byte) bool {
	end := len(line) - 1
	for end > 0 && (line[end] == '\n' || line[end] == '-' || line[end] == '+') {
		end--
	}
	return end > 0 && end >= len(line)-3 && (line[end] == '|' || line[end] == '>') && line[end-1] == ' '
}

// endOfBlock returns the end of the lines that are blank or indented at least
// by indent, and contain only characters that YAML permits.
func endOfBlock(text []byte, at, indent int) int {
	for at < len(text) {
		i := at
		for i < len(text) && text[i] == ' ' {
			i++
		}
		if i < len(text) && text[i] != '\n' && i-at < indent {
			return at
		}
		end, printable := printableLine(text, i)
		if !printable {
			return at
		}
		at = end
	}
	return at
}

// printableLine returns the end of the line, and whether YAML permits all its characters.
func printableLine(text []byte, at int) (end int, printable bool) {
	for at < len(text) {
		switch b := text[at]; {
		case b == '\n':
			return at + 1, true
		case b >= ' ' && b < 0x7f, b == '\t':
			at++
		case b < utf8.RuneSelf:
			return at, false
		default:
			r, size := utf8.DecodeRune(text[at:])
			if r < 0xa0 || r == 0xfffe || r == 0xffff {
				return at, false
			}
			at += size
		}
	}
	return at, true
}
