package redact

import (
	"bytes"
	"errors"
	"regexp"
	"strings"
)

// YAMLError returns an error of a YAML parser without content of the document, which may
// be a password, except duplicate keys and names of anchors. Keys are also
// omitted in Secrets. Names of anchors are only included if the text has
// anchors, since otherwise an asterisk may start a value.
func YAMLError(err error, document []byte) error {
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
