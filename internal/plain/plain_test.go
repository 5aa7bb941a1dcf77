package plain

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/stretchr/testify/require"
)

func TestLineIsHarmless(t *testing.T) {
	for text, want := range map[string]string{
		"\x1b[2Jgone\x07":                   " [2Jgone ",
		"a\u009b31mb\x7f":                   "a 31mb ",
		"user\u202etxt.exe":                 "user txt.exe",
		"two\r\nlines\ttabs":                "two  lines tabs",
		"raw \x9b byte":                     "raw \ufffd byte",
		"a\u2028b\u2029c\u0085d\ve\ff":      "a b c d e f",
		"Ünïcode 世界 🙂 is fine":              "Ünïcode 世界 🙂 is fine",
		"isolate\u2066 mark\u200f end":      "isolate  mark  end",
		"zero\x00byte and \x1b]0;title\x07": "zero byte and  ]0;title ",
	} {
		require.Equal(t, want, Line(text))
	}
	require.Equal(t, "a\tb\n c\n", string(Lines([]byte("a\tb\n\x1bc\n"))))
}

type word string

func TestOnlyTheFormatBreaksLines(t *testing.T) {
	var out bytes.Buffer
	_, err := Fprintf(&out, "%s|%v|%-6s|%d|%s|%q\n", "a\nerror: b", errors.New("c\nd"), word("e\tf"), 7, time.Second, "g\nh")
	require.NoError(t, err)
	_, err = Fprintln(&out, "x\ny", 1)
	require.NoError(t, err)
	require.Equal(t, "a error: b|c d|e f   |7|1s|\"g h\"\nx y 1\n", out.String())
	require.Equal(t, "7 a b", Sprintf("%d %s", 7, "a\nb"))
}

func TestALaterLineOfAMessageIsMarked(t *testing.T) {
	var out bytes.Buffer
	Message(&out, "error: ", "first\r\nerror: forged\x1b[1m\n\nlast\n\n")
	require.Equal(t, "error: first\n  | error: forged [1m\n  |\n  | last\n", out.String())
}

func TestJSONIsEscaped(t *testing.T) {
	require.Equal(t, `{"a":"\u009b\u202e\u007f ü"}`, string(JSON([]byte("{\"a\":\"\u009b\u202e\u007f ü\"}"))))
}

func FuzzLine(f *testing.F) {
	f.Add("a\nb", "\x1b[31m")
	f.Fuzz(func(t *testing.T, a, b string) {
		var out bytes.Buffer
		_, _ = Fprintf(&out, "ours: %s %q\n", a, b)
		Message(&out, "error: ", a+"\n"+b)
		for line := range strings.Lines(out.String()) {
			require.Regexp(t, `^(ours: |error:|  \|)`, line)
			require.False(t, strings.ContainsFunc(strings.TrimSuffix(line, "\n"), unicode.IsControl))
		}
	})
}
