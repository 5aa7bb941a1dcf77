package manifest

import (
	"bytes"
	"errors"
	"regexp"
	"strconv"
	"strings"
)

// withoutValues returns a YAML error without content of the document, which may
// be a password, except duplicate keys and names of anchors. Keys are also
// omitted in Secrets. Names of anchors are only included if the text has
// anchors, since otherwise an asterisk may start a value.
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
			line = twice.ReplaceAllString(line, "duplicate key")
		case !twice.MatchString(line) && (!anchors || !anchor.MatchString(line)):
			line = start.ReplaceAllString(line, "$1")
		}
		kept = append(kept, line)
	}
	return errors.New(strings.Join(kept, "\n"))
}

// atLine converts the line numbers of a YAML error, which count from the start
// of a document, to those of the stream, and joins it to one line.
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
