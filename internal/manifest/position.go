package manifest

import (
	"bytes"
	"errors"
	"regexp"
	"strconv"
	"strings"
)

// withoutValues is a YAML error that says what is wrong and where, and repeats
// nothing that the document holds but a key that stands there twice: what is
// quoted may be a password. What a Secret holds twice is not repeated either. The name
// of an anchor is, in a text that has anchors: else an asterisk may begin a value.
func withoutValues(err error, document []byte) error {
	secret := bytes.Contains(document, []byte("Secret"))
	anchors := !secret && regexp.MustCompile(`(?m)[:-] &[A-Za-z0-9_-]+( |$)`).Match(document)
	twice := regexp.MustCompile(`key "[^"]*" already set in map$`)
	anchor := regexp.MustCompile(`(unknown anchor|anchor) '[A-Za-z0-9_-]+' (referenced|value contains itself)$`)
	start := regexp.MustCompile("(?s) ?[`'\"{&].*|, key: .*|(invalid map key): .*")
	var kept []string
	for line := range strings.Lines(err.Error()) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case secret && twice.MatchString(line):
			line = twice.ReplaceAllString(line, "a key stands there twice")
		case !twice.MatchString(line) && (!anchors || !anchor.MatchString(line)):
			line = start.ReplaceAllString(line, "$1")
		}
		kept = append(kept, line)
	}
	return errors.New(strings.Join(kept, "\n"))
}

// atLine rewrites the line numbers of a YAML error, which count from the start
// of a document, so that they count from the start of the stream; and puts it
// on one line.
func atLine(err error, docLine int) error {
	pattern := regexp.MustCompile(`line (\d+)`)
	text := pattern.ReplaceAllStringFunc(err.Error(), func(match string) string {
		n, convErr := strconv.Atoi(match[len("line "):])
		if convErr != nil {
			return match
		}
		return "line " + strconv.Itoa(n+docLine-1)
	})
	return errors.New(strings.Join(strings.Fields(text), " "))
}
