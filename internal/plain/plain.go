// Package plain writes text for people of which parts come from manifests, from a
// cluster or from other programs. Such a part can neither begin a line of its own nor
// steer the terminal.
//
//	plain.Fprintf(w, "%s: %s\n", id, status) // one line, whatever the status holds
//	plain.Message(w, "error: ", err.Error()) // "error: first line", "  | second line"
package plain

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"strings"
	"unicode"
)

// continued begins each line of a message after the first. No other line that the
// programs print begins so.
const continued = "  | "

// Line is text as a part of one line: control characters, tabs and line breaks among
// them, and characters that turn the direction of writing become spaces.
func Line(text string) string {
	return strings.Map(func(r rune) rune {
		if isHarmful(r) || r == '\t' {
			return ' '
		}
		return r
	}, text)
}

// Lines is text whose line breaks and tabs mean something, such as a difference of two
// files.
func Lines(text []byte) []byte {
	return bytes.Map(func(r rune) rune {
		if isHarmful(r) && r != '\n' {
			return ' '
		}
		return r
	}, text)
}

// WriteJSON writes a value as a JSON document, indented by indent.
func WriteJSON(w io.Writer, value any, indent string) error {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetIndent("", indent)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return err
	}
	_, err := w.Write(JSON(text.Bytes()))
	return err
}

// JSON escapes in a JSON document what encoding/json leaves as it is and a terminal
// would obey.
func JSON(document []byte) []byte {
	if bytes.IndexFunc(document, isEscaped) < 0 {
		return document
	}
	var out bytes.Buffer
	for _, r := range string(document) {
		if isEscaped(r) {
			fmt.Fprintf(&out, `\u%04x`, r)
		} else {
			out.WriteRune(r)
		}
	}
	return out.Bytes()
}

func isEscaped(r rune) bool { return r >= 0x7f && isHarmful(r) }

// isHarmful reports whether a terminal obeys a character instead of showing it.
func isHarmful(r rune) bool {
	return unicode.Is(unicode.Cc, r) && r != '\t' || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029'
}

// Fprintf is fmt.Fprintf, but only the format breaks lines: texts among the arguments
// are written as Line writes them.
func Fprintf(w io.Writer, format string, args ...any) (int, error) {
	return fmt.Fprintf(w, format, harmless(args)...)
}

// Fprintln is fmt.Fprintln: one line, with texts as Line writes them.
func Fprintln(w io.Writer, args ...any) (int, error) {
	return fmt.Fprintln(w, harmless(args)...)
}

// Sprintf is fmt.Sprintf as Fprintf prints it.
func Sprintf(format string, args ...any) string { return fmt.Sprintf(format, harmless(args)...) }

// Message writes a text that may have several lines behind a prefix. Lines after the
// first are marked, so that none of them can be taken for one of ours.
func Message(w io.Writer, prefix, text string) {
	for line := range strings.Lines(strings.TrimRight(text, "\r\n")) {
		fmt.Fprintln(w, strings.TrimRight(prefix+Line(line), " "))
		prefix = continued
	}
}

// harmless replaces the texts among arguments.
func harmless(args []any) []any {
	out := make([]any, len(args))
	for i, arg := range args {
		switch value := arg.(type) {
		case string:
			out[i] = Line(value)
		case error:
			out[i] = Line(value.Error())
		case fmt.Stringer:
			out[i] = Line(value.String())
		default:
			out[i] = arg
			switch reflect.ValueOf(arg).Kind() {
			case reflect.String, reflect.Slice, reflect.Map, reflect.Struct, reflect.Pointer:
				out[i] = Line(fmt.Sprint(arg))
			}
		}
	}
	return out
}
