package fn

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// Block texts (scripts, dashboards, descriptions of CRDs) are most of many
// streams, nothing selects by them, and a parser takes them character by
// character. So all lines of one but the first are blanked before parsing. That
// changes nothing else: what the parser makes of the header and the first line
// depends on what stands before, which is the same; from these it takes the
// text's indentation; and a line that is blank, or indented as deep, is more of
// the text whatever it says. The tree must then have just that text at that
// line, or the document is parsed as it stands.

// blockText is a block text of which only the first line is left.
type blockText struct {
	line  int    // of the header, as nodes count, from 1
	first []byte // what its first line says
}

// briefParser parses texts with their block texts cut short. The zero value is
// ready.
type briefParser struct {
	text []byte // what is parsed, kept for its memory: a tree holds nothing of it
	cut  []blockText
}

// parse is parseAlone with block texts cut short, except in what an order looks
// at. The keys of resources stand in the column, and bodiesOf gives the
// resources of the document.
func (p *briefParser) parse(text []byte, column int, bodiesOf func(*yaml.Node) []*yaml.Node) (*yaml.Node, bool) {
	if p.shorten(text, column); len(p.cut) == 0 {
		return parseAlone(text)
	}
	root, ok := parseAlone(p.text)
	if ok && areBlockTexts(p.cut, bodiesOf(root)) {
		return root, true
	}
	return parseAlone(text)
}

// areBlockTexts tells whether the resources have each of the texts where it was
// cut, outside of what an order looks at.
func areBlockTexts(cut []blockText, bodies []*yaml.Node) bool {
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

func (b blockText) is(node *yaml.Node) bool {
	return node.Line == b.line && node.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 && strings.Trim(node.Value, "\n") == string(b.first)
}

// shorten copies the text with the lines of block texts blanked, and notes what
// was cut; lines keep their numbers. Where nothing can be cut there is no copy.
func (p *briefParser) shorten(text []byte, column int) {
	p.text, p.cut = p.text[:0], p.cut[:0]
	kept, inMetadata := 0, false // up to where the copy reaches
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

// cutBlock finds the block text below a header, and in it the lines to blank.
func cutBlock(text []byte, at int) (b blockText, from, to int) {
	for at < len(text) && isBlank(text[at:lineEnd(text, at)]) {
		at = lineEnd(text, at)
	}
	from = lineEnd(text, at)
	first := text[at:from]
	indent := len(first) - len(bytes.TrimLeft(first, " "))
	if !bytes.HasSuffix(first, []byte("\n")) {
		return b, from, from
	}
	return blockText{first: first[indent : len(first)-1]}, from, endOfBlock(text, from, indent)
}

// lineEnd is where the line that begins at this byte ends, its newline included.
func lineEnd(text []byte, at int) int {
	if length := bytes.IndexByte(text[at:], '\n'); length >= 0 {
		return at + length + 1
	}
	return len(text)
}

// isBlockHeader tells whether a line looks as if it began a block text whose
// indentation is that of its first line.
func isBlockHeader(line []byte) bool {
	end := len(line) - 1
	for end > 0 && (line[end] == '\n' || line[end] == '-' || line[end] == '+') {
		end--
	}
	return end > 0 && end >= len(line)-3 && (line[end] == '|' || line[end] == '>') && line[end-1] == ' '
}

// endOfBlock is where the lines end that are blank or indented as deep as this
// and hold nothing that YAML forbids.
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

// printableLine is where the line ends, and whether YAML allows every character
// up to there.
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
