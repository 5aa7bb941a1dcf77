package plain

import (
	"bytes"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"
)

// The log of a job is read by the system that runs it. These are its parsers, as far as they
// recognize commands.

// collated returns a text without the characters that .NET skips when it compares strings
// by the rules of a culture, as the runner and the agent do: zero width and other default
// ignorable code points of Unicode.
func collated(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.In(r, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector) {
			return -1
		}
		return r
	}, text)
}

// readLines splits at the line ends that .NET's StreamReader.ReadLine knows.
func readLines(log string) []string { return regexp.MustCompile("\r\n|\r|\n").Split(log, -1) }

// github finds commands by ActionCommand.TryParseV2 of actions/runner
// (src/Runner.Common/ActionCommand.cs): two colons at the start of a line, after white space,
// and two more after the command.
func github(log string) (found []string) {
	for _, line := range readLines(log) {
		line = collated(strings.TrimLeftFunc(collated(line), unicode.IsSpace))
		if rest, is := strings.CutPrefix(line, "::"); is && strings.Contains(rest, "::") {
			if command, _, _ := strings.Cut(rest, "::"); !strings.HasPrefix(command, " ") && command != "" {
				found = append(found, line)
			}
		}
	}
	return found
}

// bracketed finds commands by ActionCommand.TryParse of actions/runner, "##[command]" anywhere
// in a line, by the logging commands of Azure Pipelines ("##vso[area.action]" of its page
// "Logging commands", which the agent finds anywhere in a line, and its "##[group]"), and by
// the service messages of TeamCity ("##teamcity[name]").
func bracketed(log string) (found []string) {
	command := regexp.MustCompile(`(?i)##(vso|teamcity)?\[`)
	for _, line := range readLines(log) {
		if command.MatchString(collated(line)) {
			found = append(found, line)
		}
	}
	return found
}

// gitlab finds the marks of sections of the page "Custom collapsible sections" of GitLab: a
// name and a time, a carriage return and the sequence that erases a line.
func gitlab(log string) []string {
	return regexp.MustCompile("section_(start|end):[0-9]+:[A-Za-z0-9_.-]+(\\[[^\\]]*\\])?\r\x1b\\[0K").FindAllString(log, -1)
}

// TestTheParsersFindCommands shows that the parsers above find commands.
func TestTheParsersFindCommands(t *testing.T) {
	for _, text := range []string{"::error::x", "a\n \t::stop-commands::x", "\u00a0::group::", "\ufeff::add-mask::x", ":\u200b:add-mask::x", "x\r::error file=a,line=1::y"} {
		require.NotEmpty(t, github(text), "%q", text)
	}
	for _, text := range []string{"::1 localhost", "a ::error::x", ": :error::x", "::", "::::", ":: error::"} {
		require.Empty(t, github(text), "%q", text)
	}
	for _, text := range []string{"a ##[add-mask]b", "x ##vso[task.setvariable variable=A]b", "#\u00ad#vso[x]", "##VSO[x]", "##teamcity[buildStop]"} {
		require.NotEmpty(t, bracketed(text), "%q", text)
	}
	require.NotEmpty(t, gitlab("\x1b[0Ksection_start:1:a[collapsed=true]\r\x1b[0KText"))
}

// printed returns texts as each function of this package prints them.
func printed(t *testing.T, texts ...string) string {
	var out bytes.Buffer
	for _, text := range texts {
		_, err := Fprintf(&out, "  %s\n", text)
		require.NoError(t, err)
		_, err = Fprintf(&out, "%s%s\n", text, errorText(text))
		require.NoError(t, err)
		_, err = Fprintln(&out, text, text)
		require.NoError(t, err)
		out.WriteString(Sprintf("%v", []string{text}) + "\n" + Sprintf("%-20s|%s", text, text) + "\n")
		out.WriteString(Line(text) + "\n")
		out.Write(Lines([]byte(text)))
		out.WriteByte('\n')
		Message(&out, "", text)
		Message(&out, "error: ", text)
		require.NoError(t, WriteJSON(&out, map[string]string{text: text}, "  "))
		out.WriteString("\n")
	}
	_, err := Fprintf(&out, "%s%s%s\n", texts[0], texts[len(texts)-1], texts[0])
	require.NoError(t, err)
	return out.String()
}

type errorText string

func (e errorText) Error() string { return string(e) }

// No part of any text is a command when it is printed.
func TestNoTextIsACommand(t *testing.T) {
	parts := []string{
		":", "::", "::error::", "::add-mask::", "error", "#", "##", "##[", "[", "]", "##vso[task.setvariable variable=BASH_ENV]", "vso", "VSO", "##teamcity[",
		"section_start:1:a", "section_end:1:a", "\r", "\n", "\r\x1b[0K", " ", "\t", "\u00a0", "\u3000", "\ufeff", "\u200b", "\u00ad", "\u2060", "\ufe0f", "\U000e0041",
		"\u0085", "\u2028", "\v", "x", "é",
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 5_000 {
		text := func() string {
			var b strings.Builder
			for range 1 + rnd.IntN(7) {
				b.WriteString(parts[rnd.IntN(len(parts))])
			}
			return b.String()
		}
		a, b := text(), text()
		out := printed(t, a, b)
		require.Empty(t, github(out), "%q %q", a, b)
		require.Empty(t, bracketed(out), "%q %q", a, b)
		require.Empty(t, gitlab(out), "%q %q", a, b)
	}
}

// Text that is almost a command stays, and JSON keeps its values.
func TestOtherTextsStay(t *testing.T) {
	for _, text := range []string{"::1 localhost", "2001:db8::/32", "## Heading", "- ## [link]", "a::b::c", "std::string::npos", "array[0] #[x]"} {
		require.Equal(t, text, Line(text))
		require.Equal(t, text, string(Lines([]byte(text))))
	}
	require.Equal(t, ": :error::x", Line("::error::x"))
	require.Equal(t, "a # #[error]b # #vso[x]", Line("a ##[error]b ##vso[x]"))
	require.Equal(t, "+ a\n  : :error::x\n", string(Lines([]byte("+ a\n  ::error::x\n"))))
	require.Equal(t, `{"a":"\u0023#[error] \u0023#vso[x]"}`, string(JSON([]byte(`{"a":"##[error] ##vso[x]"}`))))
	require.Equal(t, `"\udb40\udc41"`, string(JSON([]byte("\"\U000e0041\""))), "beyond the basic plane")
}
