// Package plain prints text that includes parts from manifests, from a cluster
// or from other programs. Such a part can neither start a line, nor control the
// terminal, nor be a command of the system that runs a job and reads its log.
//
//	plain.Fprintf(w, "%s: %s\n", id, status) // one line, whatever status contains
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
	"unicode/utf16"
)

// continued starts each line of a message after the first. No other output line
// starts with it.
const continued = "  | "

// Line returns text for use within a line: control characters, including tabs
// and line breaks, bidirectional controls and invisible characters become spaces.
// A command of a CI system is broken by a space.
func Line(text string) string {
	return inert(strings.Map(func(r rune) rune {
		if isHarmful(r) || r == '\t' {
			return ' '
		}
		return r
	}, text))
}

// Lines returns text whose line breaks and tabs are kept, such as a diff.
func Lines(text []byte) []byte {
	return []byte(inert(strings.Map(func(r rune) rune {
		if isHarmful(r) && r != '\n' {
			return ' '
		}
		return r
	}, string(text))))
}

// WriteLines prints write's output, as Lines returns it.
func WriteLines(out io.Writer, write func(io.Writer) error) error {
	var text bytes.Buffer
	if err := write(&text); err != nil {
		return err
	}
	_, err := out.Write(Lines(text.Bytes()))
	return err
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

// JSON escapes characters in a JSON document that encoding/json does not escape
// and that control a terminal, are invisible, or begin a command of a CI system.
func JSON(document []byte) []byte {
	document = inertJSON(document)
	if bytes.IndexFunc(document, isEscaped) < 0 {
		return document
	}
	var out bytes.Buffer
	for _, r := range string(document) {
		switch {
		case !isEscaped(r):
			out.WriteRune(r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&out, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&out, `\u%04x`, r)
		}
	}
	return out.Bytes()
}

func isEscaped(r rune) bool { return r >= 0x7f && isHarmful(r) }

// isHarmful reports whether a character is not shown: it controls a terminal, or is invisible.
func isHarmful(r rune) bool {
	if r < 0x7f {
		return r < ' ' && r != '\t'
	}
	return unicode.In(r, unicode.Cc, unicode.Zl, unicode.Zp, unicode.Bidi_Control) || isInvisible(r)
}

// isInvisible reports whether a character has neither a shape nor a width, such as
// ZERO WIDTH SPACE: two texts that differ would look the same.
func isInvisible(r rune) bool {
	return unicode.In(r, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector) &&
		!unicode.Is(unicode.Prepended_Concatenation_Mark, r)
}

// Fprintf is like fmt.Fprintf, but passes strings, errors and Stringers among
// the arguments through Line, so that only the format breaks lines.
func Fprintf(w io.Writer, format string, args ...any) (int, error) {
	return io.WriteString(w, Sprintf(format, args...))
}

// Fprintln is like fmt.Fprintln, but prints one line, as Fprintf does.
func Fprintln(w io.Writer, args ...any) (int, error) {
	return io.WriteString(w, inert(fmt.Sprintln(harmless(args)...)))
}

// Sprintf is like fmt.Sprintf, with arguments as in Fprintf.
func Sprintf(format string, args ...any) string {
	return inert(fmt.Sprintf(format, harmless(args)...))
}

// Message writes a text that may have several lines after a prefix. Lines after
// the first are marked, so that none looks like one of ours. It ignores errors of w.
func Message(w io.Writer, prefix, text string) {
	for line := range strings.Lines(strings.TrimRight(text, "\r\n")) {
		fmt.Fprintln(w, strings.TrimRight(prefix+Line(line), " "))
		prefix = continued
	}
}

// harmless passes the strings among arguments through Line.
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
